"""Names by language with a character RNN written by hand, and names generated from a category: unicode, NLLLoss."""

import random
import string
import unicodedata

import torch
import torch.nn as nn

all_letters = string.ascii_letters + " .,;'-"
n_letters = len(all_letters) + 1
NAMES = {
    "Italian": ["Rossi", "Russo", "Ferrari", "Esposito", "Bianchi", "Ricciò"],
    "Japanese": ["Satō", "Suzuki", "Takahashi", "Tanaka", "Itō", "Nakamura"],
    "Irish": ["O'Neal", "Ó Briain", "Murphy", "Kelly", "Walsh", "Byrne"],
}


def unicode_to_ascii(s):
    return "".join(c for c in unicodedata.normalize("NFD", s) if unicodedata.category(c) != "Mn" and c in all_letters)


def letter_to_index(letter):
    return all_letters.find(letter)


def line_to_tensor(line):
    tensor = torch.zeros(len(line), 1, n_letters)
    for li, letter in enumerate(line):
        tensor[li][0][letter_to_index(letter)] = 1
    return tensor


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(input_size + hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, input, hidden):
        combined = torch.cat((input, hidden), 1)
        return self.softmax(self.i2o(combined)), torch.tanh(self.i2h(combined))

    def initHidden(self):
        return torch.zeros(1, self.hidden_size)


class Generator(nn.Module):
    def __init__(self, n_categories, input_size, hidden_size, output_size):
        super().__init__()
        self.i2h = nn.Linear(n_categories + input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(n_categories + input_size + hidden_size, output_size)
        self.o2o = nn.Linear(hidden_size + output_size, output_size)
        self.dropout, self.softmax = nn.Dropout(0.1), nn.LogSoftmax(dim=1)

    def forward(self, category, input, hidden):
        combined = torch.cat((category, input, hidden), 1)
        hidden, output = self.i2h(combined), self.i2o(combined)
        return self.softmax(self.dropout(self.o2o(torch.cat((hidden, output), 1)))), hidden


random.seed(3)
torch.manual_seed(3)
lines = {k: [unicode_to_ascii(n) for n in v] for k, v in NAMES.items()}
categories = list(lines)
print(lines["Irish"], line_to_tensor("ab").size())
rnn = RNN(n_letters, 24, len(categories))
criterion = nn.NLLLoss()


def category_from_output(output):
    top_n, top_i = output.topk(1)
    category_i = top_i[0].item()
    return categories[category_i], category_i


def train(category_tensor, line_tensor, learning_rate=0.05):
    hidden = rnn.initHidden()
    rnn.zero_grad()
    for i in range(line_tensor.size()[0]):
        output, hidden = rnn(line_tensor[i], hidden)
    loss = criterion(output, category_tensor)
    loss.backward()
    nn.utils.clip_grad_value_(rnn.parameters(), 1.0)
    for p in rnn.parameters():
        p.data.add_(p.grad.data, alpha=-learning_rate)
    return output, loss.item()


current = 0
for it in range(1, 61):
    category = random.choice(categories)
    line = random.choice(lines[category])
    output, loss = train(torch.tensor([categories.index(category)], dtype=torch.long), line_to_tensor(line))
    current += loss
    if it % 20 == 0:
        guess, _ = category_from_output(output)
        print("%d %.5f %s / %s %s" % (it, current / 20, line, guess, "right" if guess == category else "wrong"))
        current = 0
confusion = torch.zeros(3, 3)
with torch.no_grad():
    for i, category in enumerate(categories):
        for line in lines[category]:
            hidden = rnn.initHidden()
            for letter in line_to_tensor(line):
                output, hidden = rnn(letter, hidden)
            confusion[i][category_from_output(output)[1]] += 1
for i in range(3):
    confusion[i] = confusion[i] / confusion[i].sum()
print(confusion)

model = Generator(len(categories), n_letters, 24, n_letters)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for it in range(30):
    category = random.choice(categories)
    line = random.choice(lines[category])
    c = nn.functional.one_hot(torch.tensor([categories.index(category)]), 3).float()
    target = torch.tensor([letter_to_index(x) for x in line[1:]] + [n_letters - 1])
    target.unsqueeze_(-1)
    hidden, loss = torch.zeros(1, 24), torch.zeros(1)
    opt.zero_grad()
    for letter, t in zip(line_to_tensor(line), target):
        output, hidden = model(c, letter, hidden)
        loss += criterion(output, t)
    loss.backward()
    opt.step()
    if it % 10 == 9:
        print(f"generator {it} {loss.item() / len(line):.5f}")
model.eval()
with torch.no_grad():
    for start in "RS":
        letter, hidden, name = line_to_tensor(start), torch.zeros(1, 24), start
        for _ in range(8):
            output, hidden = model(c, letter[0], hidden)
            topv, topi = output.topk(1)
            if topi[0][0] == n_letters - 1:
                break
            name += all_letters[topi[0][0]]
            letter = line_to_tensor(name[-1])
        print(repr(name), f"{topv.item():.5f}")
