"""Sine waves continued by two LSTM cells in double precision, trained by LBFGS with a closure."""

import torch
import torch.nn as nn
import torch.optim as optim


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 10)
        self.lstm2 = nn.LSTMCell(10, 10)
        self.linear = nn.Linear(10, 1)

    def forward(self, input, future=0):
        outputs = []
        h_t = torch.zeros(input.size(0), 10, dtype=torch.double)
        c_t = torch.zeros(input.size(0), 10, dtype=torch.double)
        h_t2 = torch.zeros(input.size(0), 10, dtype=torch.double)
        c_t2 = torch.zeros(input.size(0), 10, dtype=torch.double)
        for input_t in input.split(1, dim=1):
            h_t, c_t = self.lstm1(input_t, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        for _ in range(future):
            h_t, c_t = self.lstm1(output, (h_t, c_t))
            h_t2, c_t2 = self.lstm2(h_t, (h_t2, c_t2))
            output = self.linear(h_t2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


torch.manual_seed(0)
T, L, N = 8, 40, 6
phase = torch.randint(-4 * T, 4 * T, (N, 1))
data = torch.sin((torch.arange(L) + phase) / 1.0 / T).to(torch.float64)
input, target = data[2:, :-1], data[2:, 1:]
test_input, test_target = data[:2, :-1], data[:2, 1:]
seq = Sequence()
seq.double()
criterion = nn.MSELoss()
optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=8, tolerance_change=1e-9)
for i in range(3):
    print("STEP: ", i)

    def closure():
        optimizer.zero_grad()
        out = seq(input)
        loss = criterion(out, target)
        print("loss: %.6f" % loss.item())
        loss.backward()
        return loss

    optimizer.step(closure)
    with torch.no_grad():
        pred = seq(test_input, future=10)
        loss = criterion(pred[:, :-10], test_target)
        print("test loss: %.6f" % loss.item(), [f"{v:.5f}" for v in pred[0, -3:].tolist()])
state = optimizer.state_dict()
print(sorted(state["state"][0]), state["state"][0]["n_iter"], state["param_groups"][0]["params"])
gru = nn.GRUCell(3, 5)
rnn = nn.RNNCell(3, 5, nonlinearity="relu")
x, h = torch.randn(2, 3), torch.randn(2, 5)
print(f"{gru(x, h).sum().item():.6f} {rnn(x).sum().item():.6f} {gru(x[0]).shape}", gru)
