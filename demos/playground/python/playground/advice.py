"""What to do about errors whose text does not say it: the first pattern that is found in the text counts."""

ADVICE = [
    # gradients
    (
        "does not require grad and does not have a grad_fn",
        "Nothing that was computed depends on a tensor with requires_grad: was it under torch.no_grad(), detached, or "
        "made with .item()?",
    ),
    (
        "backward through the graph a second time",
        "The graph of one step is used again in the next: detach() what is carried over.",
    ),
    (
        "leaf Variable that requires grad is being used in an in-place",
        "Change a weight where no gradient is recorded: with torch.no_grad(): w -= lr * w.grad.",
    ),
    (
        "modified by an inplace operation",
        "The gradient needs a value that was overwritten: write x = x + 1 in place of x += 1, or change x.clone().",
    ),
    ("grad can be implicitly created only for scalar", "The loss has to be one number: loss.mean().backward()."),
    (
        "can't optimize a non-leaf Tensor",
        "It was computed from another tensor, so it has no gradient of its own: w = w.detach().requires_grad_().",
    ),
    # targets and losses
    (
        r"Target -\d+ is out of bounds",
        "Targets are class numbers and count from 0. ignore_index=-1 leaves rows with the target -1 out.",
    ),
    (
        r"Target \d+ is out of bounds",
        "Targets are class numbers and count from 0: scores with C columns know the classes 0 to C - 1. Give the last "
        "layer as many outputs as there are classes; take 1 away from labels that begin at 1.",
    ),
    (
        "expected target dtype to be Long or Byte",
        "This loss takes class numbers, which are integers: target.long(). To predict a number, use "
        "nn.functional.mse_loss.",
    ),
    (
        "multi-target not supported|floating point type for target with class probabilities",
        "Each row has one class number: target.squeeze(1) for a column, target.argmax(1) for one-hot rows.",
    ),
    ("Found dtype Long but expected Float", "This loss takes floating-point targets: target.float()."),
    (
        r"result type \w+ can't be cast to the desired output type (Long|Int|Short|Char|Byte|Bool)",
        "A tensor of integers can't hold the result: x.float() first, or target.float() where it is a loss.",
    ),
    (
        "different to the input size|must be the same as input size",
        "Scores and targets have one shape: scores.squeeze(1) makes numbers of a column.",
    ),
    (
        "elements of input should be between 0 and 1",
        "This loss takes probabilities: torch.sigmoid(scores). nn.functional.binary_cross_entropy_with_logits takes "
        "scores.",
    ),
    (
        "Boolean value of Tensor with more than one value",
        "A condition needs one value: x.any(), x.all(), and a & b for a and b. A loss class is made first, then "
        "called: nn.CrossEntropyLoss()(scores, target).",
    ),
    # dtypes and devices
    ("same device", "Move the model and the data to one device: model.to(device), x.to(device)."),
    (
        r"have the same dtype, but got|Input type \(.*\) and bias type",
        "x.float() makes the input float32, as weights are. numpy's numbers are float64 unless you say otherwise.",
    ),
    (
        "argument #1 'indices' to have one of the following scalar types|tensors used as indices must be",
        "Indices are integers: index.long().",
    ),
    ("could not infer output dtype", "Integers have no mean of their own kind: x.float().mean()."),
    # making tensors
    (
        "only one element tensors can be converted",
        "torch.stack(tensors) makes one tensor of several; x.tolist() makes numbers of one.",
    ),
    (
        r"a Tensor with \d+ elements cannot be converted to Scalar",
        "item() takes a tensor of one number: x.mean().item(). x.tolist() gives all numbers.",
    ),
    (
        "expected sequence of length|stack expects each tensor to be equal size",
        "Items of one tensor have one length: torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True) fills shorter "
        "ones up, in a DataLoader's collate_fn too.",
    ),
    ("too many dimensions 'str'", "Tensors hold numbers: give each text a number first."),
    (
        "can't convert np.ndarray of type numpy.object_",
        "The array holds Python objects: array.astype('float32') where all of them are numbers.",
    ),
    (
        "(len|iteration)(\\(\\) of| over) a 0-d tensor",
        "The tensor is one number: x.item(). torch.max(x) gives values and indices only with a dim: torch.max(x, 1).",
    ),
    (
        "must have the same number of dimensions as input",
        "Give the index the dims of the tensor: x.gather(1, index.unsqueeze(1)).",
    ),
    (r"'torch\.Size' object is not callable", "shape is no function: x.shape, or x.size()."),
    (
        "method' object is not subscriptable",
        "A function stands before the brackets; call it first: x.size()[0].",
    ),
    # modules
    (
        r"before Module\.__init__\(\) call|has no attribute '_backward_hooks'",
        "Call super().__init__() first in the module's __init__.",
    ),
    (
        r"\[Module(List|Dict)\] is missing the required \"forward\"",
        "It only holds layers: call them one by one, or use nn.Sequential.",
    ),
    (
        'is missing the required "forward"',
        "Define forward(self, x) in the class, with this name and indented like __init__.",
    ),
    ("list is not a Module subclass", "Layers are given one by one: nn.Sequential(*layers)."),
    ("is not a Module subclass", "Layers are modules: nn.ReLU() in place of the function torch.relu."),
    (
        r"argument 'input' \(position 1\) must be Tensor, not tuple",
        "nn.LSTM, nn.GRU and nn.RNN give two values: output, state = rnn(x). So does nn.MultiheadAttention.",
    ),
    (
        r"argument 'input' \(position 1\) must be Tensor, not (list|numpy\.ndarray)",
        "torch.tensor(x, dtype=torch.float32) makes a tensor of it.",
    ),
    (
        "Expected more than 1 value per channel",
        "Batch norm can't train on one row: model.eval() to predict, drop_last=True in the DataLoader to train.",
    ),
    (
        "index out of range in self",
        "An embedding of n rows (num_embeddings) takes indices from 0 to n - 1.",
    ),
    (
        "optimizer got an empty parameter list",
        "The model has no parameters that it knows of: keep layers as self.name or in nn.ModuleList, not in a list.",
    ),
    ("params argument given to the optimizer", "An optimizer takes model.parameters(), or a list: [w]."),
    # files
    (
        r"Unexpected key\(s\) in state_dict: \"(module|_orig_mod)\.",
        "The file was saved from a wrapped model. Take the wrapper's name off: "
        '{k.removeprefix("module.").removeprefix("_orig_mod."): v for k, v in state.items()}.',
    ),
    (
        "Expected state_dict to be dict-like, got <class 'str'>",
        "load_state_dict takes what the file holds: model.load_state_dict(torch.load(path)).",
    ),
    ("Expected state_dict to be dict-like", "load_state_dict takes the other model's state_dict()."),
    # None
    (
        "'NoneType' object (has no attribute|is not)",
        "Something here is None. A function without return gives None (forward too), and x.grad is None before "
        "backward().",
    ),
]
