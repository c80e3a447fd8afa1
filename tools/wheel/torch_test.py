"""torch.compile(model, backend="tilewright"): small models right, and what is handed back."""

import importlib.util
import logging
import sys
import unittest

for package in ("torch", "onnxscript"):
    if importlib.util.find_spec(package) is None:
        print(f"SKIPPED torch_test: the package {package} is not there")
        sys.exit(0)

import torch  # noqa: E402
from torch import nn  # noqa: E402

from tilewright import torch_backend  # noqa: E402


logging.getLogger("torch.onnx").setLevel(logging.ERROR)


class Transformer(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        self.embed = nn.Embedding(50, width)
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))

    def forward(self, tokens):
        x = self.embed(tokens)
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.first(x)).chunk(3, dim=-1)
        )
        scores = torch.softmax(q @ k.transpose(-1, -2) / (width // self.heads) ** 0.5, dim=-1)
        x = x + self.out((scores @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.second(x))


def cnn():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, groups=8),
        nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10),
    )  # fmt: skip


class Backend(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        torch._dynamo.reset()
        torch_backend.handed_back.clear()
        torch_backend.compiled.clear()

    def right(self, model, *inputs):
        model = model.eval()
        fast = torch.compile(model, backend="tilewright", dynamic=False)
        with torch.no_grad():
            torch.testing.assert_close(fast(*inputs), model(*inputs), rtol=1e-4, atol=1e-4)
        return model, fast

    def test_transformer(self):
        self.right(Transformer(), torch.randint(0, 50, (2, 12)))
        self.assertEqual(torch_backend.handed_back, [])
        self.assertEqual(len(torch_backend.compiled), 1)

    def test_cnn(self):
        model, fast = self.right(cnn(), torch.randn(2, 3, 16, 16))
        self.assertEqual(torch_backend.handed_back, [])
        self.assertEqual(len(torch_backend.compiled), 1)
        # Weights that change are not those of the library.
        with torch.no_grad():
            model[0].weight.mul_(2)
            x = torch.randn(2, 3, 16, 16)
            torch.testing.assert_close(fast(x), model(x), rtol=1e-4, atol=1e-4)

    def test_what_is_handed_back(self):
        class Odd(nn.Module):
            def forward(self, x):
                return torch.linalg.eigvalsh(x @ x.T)  # ONNX has no such operator

        self.right(Odd(), torch.randn(4, 8))
        self.assertEqual(len(torch_backend.handed_back), 1)
        model = nn.Linear(4, 4)
        x = torch.randn(2, 4)
        torch.testing.assert_close(torch.compile(model, backend="tilewright")(x), model(x))
        self.assertIn("results need gradients", torch_backend.handed_back[1])


if __name__ == "__main__":
    unittest.main()
