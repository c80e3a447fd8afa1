// Constants of mathematics come before the text of every kernel.
#pragma once
