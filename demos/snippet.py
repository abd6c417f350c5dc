import torch

x = torch.linspace(0, 1, 5, requires_grad=True)
y = (x**3).sum()
y.backward()

print(x.grad)  # 3 x^2
print(torch.eye(2) @ torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
