"""Signals: spectra, filters by convolution and by FFT, windows, complex numbers, denoising, a wavelet, phases."""

import math

import torch
import torch.nn.functional as F

torch.manual_seed(61)
rate, n = 200.0, 400
t = torch.arange(n) / rate
clean = torch.sin(2 * math.pi * 5 * t) + 0.5 * torch.cos(2 * math.pi * 30 * t + 0.4)
noisy = clean + 0.3 * torch.randn(n)
spectrum = torch.fft.rfft(noisy)
freqs = torch.fft.rfftfreq(n, d=1 / rate)
peaks = spectrum.abs().topk(2).indices
print(sorted(freqs[peaks].tolist()), spectrum.dtype, f"{torch.angle(spectrum[60]).item():.4f}")
print("parseval", torch.allclose(noisy.square().sum(), torch.fft.fft(noisy).abs().square().sum() / n, rtol=1e-4))
mask = torch.where((freqs - 5).abs() < 2, 1.0, 0.0) + torch.where((freqs - 30).abs() < 2, 1.0, 0.0)
filtered = torch.fft.irfft(spectrum * mask, n=n)
print(f"noise {(noisy - clean).std().item():.5f} -> {(filtered - clean).std().item():.5f}")
k = torch.arange(-20, 21)
sinc = torch.sinc(2 * 10 / rate * k) * torch.blackman_window(41, periodic=False)
sinc = sinc / sinc.sum()
low = F.conv1d(noisy[None, None], sinc[None, None], padding="same").flatten()
size = n + 41 - 1
fast = torch.fft.irfft(torch.fft.rfft(noisy, size) * torch.fft.rfft(sinc, size), size)[20:-20]
print("convolution theorem", torch.allclose(low, fast, atol=1e-4), f"{low.norm().item():.5f}")
for name in ("hann", "hamming", "bartlett", "blackman", "kaiser"):
    w = getattr(torch, name + "_window")(16)
    print(name, f"{w.sum().item():.6f} {w.square().sum().item():.6f}", end="; ")
print(torch.signal.windows.gaussian(5, std=1.0), torch.signal.windows.exponential(3))
analytic = torch.fft.ifft(
    torch.fft.fft(noisy) * torch.cat([torch.ones(1), 2 * torch.ones(199), torch.ones(1), torch.zeros(199)])
)
envelope = analytic.abs()
print(f"envelope {envelope.mean().item():.5f}", torch.allclose(analytic.real, noisy, atol=1e-5), analytic.is_complex())
frames = noisy.unfold(0, 64, 32) * torch.hann_window(64)
power = torch.fft.rfft(frames).abs().pow(2).mean(0)
stft = torch.stft(noisy, 64, 32, window=torch.hann_window(64), center=False, return_complex=True)
print("welch", torch.allclose(stft.abs().pow(2).mean(-1), power, rtol=1e-4), int(power.argmax()), tuple(stft.shape))
z = torch.complex(torch.tensor([1.0, 0.0]), torch.tensor([1.0, -2.0]))
print(
    z, z.conj(), z.abs(), torch.polar(torch.ones(1), torch.tensor([math.pi / 2])), (z * 1j).real, z.resolve_conj().imag
)
print(torch.view_as_real(z), z @ z, torch.vdot(z, z), z.exp(), torch.sgn(z), z.cpu().to(torch.complex128).dtype)
w = torch.tensor([1.0 + 2.0j, 0.5j], requires_grad=True)
(w.abs().square().sum() + (w * w).real.sum()).backward()
print(w.grad, torch.is_complex(w), torch.linalg.norm(w).item())
image = torch.zeros(8, 8)
image[2:5, 3:6] = 1
F2 = torch.fft.fftshift(torch.fft.fft2(image, norm="ortho"))
moved = torch.fft.ifft2(torch.fft.fft2(image) * torch.exp(-2j * math.pi * torch.fft.fftfreq(8)[:, None] * 2)).real
print(f"{F2.abs()[4, 4].item():.5f}", torch.allclose(moved, image.roll(2, 0), atol=1e-5), torch.fft.hfft(z).shape)
correlation = torch.fft.ifft2(torch.fft.fft2(image.roll((1, 2), (0, 1))) * torch.fft.fft2(image).conj()).real
print("shift", divmod(int(correlation.argmax()), 8))


def haar(x):
    a, b = x[..., ::2], x[..., 1::2]
    return (a + b) / math.sqrt(2), (a - b) / math.sqrt(2)


a, details = noisy, []
for _ in range(3):
    a, d = haar(a)
    details.append(F.softshrink(d, 0.3))
for d in reversed(details):
    a = torch.stack([(a + d) / math.sqrt(2), (a - d) / math.sqrt(2)], -1).flatten(-2)
print(f"haar {(a - clean).pow(2).mean().item():.5f}", [int(d.count_nonzero()) for d in details])
resampled = F.interpolate(noisy[None, None], scale_factor=0.5, mode="linear", align_corners=False).flatten()
up = F.interpolate(resampled[None, None], size=400, mode="nearest-exact").flatten()
print(f"{resampled.sum().item():.4f} {up.std().item():.5f}", f"{F.avg_pool1d(noisy[None], 5, 2, 2).sum().item():.4f}")
x = noisy.clone().requires_grad_()
opt = torch.optim.SGD([x], lr=0.2)
for step in range(20):
    opt.zero_grad()
    loss = (x - noisy).square().sum() + 0.5 * x.diff().abs().sum()
    loss.backward()
    opt.step()
print(f"total variation {loss.item():.3f} {(x.detach() - clean).std().item():.4f}")
iir = [0.0]
for v in noisy[:50].tolist():
    iir.append(0.9 * iir[-1] + 0.1 * v)
kernel = 0.1 * 0.9 ** torch.arange(50).flip(0)
print(f"{iir[-1]:.6f} {(kernel @ noisy[:50]).item():.6f} {torch.logcumsumexp(noisy, 0)[-1].item():.5f}")
