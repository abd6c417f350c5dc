"""Reading and writing files: zip records, PyTorch's pickles of both formats, and what a file may ask for."""
