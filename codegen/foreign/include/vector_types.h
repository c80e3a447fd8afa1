// Everything of it comes before the text of every kernel.
#pragma once
