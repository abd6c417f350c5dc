"""hash_tensor beside PyTorch: values, dtypes, dims, errors."""

import pytest

from alike import alike, cases


@cases("""
x = torch.tensor([[1.5, 2, 3], [4, 5, 6]]); torch.hash_tensor(x)
x = torch.tensor([[1.5, 2, 3], [4, 5, 6]]); torch.hash_tensor(x).dtype
x = torch.tensor([[1.5, 2, 3], [4, 5, 6]]); torch.hash_tensor(x,0)
x = torch.tensor([[1.5, 2, 3], [4, 5, 6]]); torch.hash_tensor(x,1,keepdim=True)
x = torch.tensor([[1.5, 2, 3], [4, 5, 6]]); torch.hash_tensor(x,(0,1))
torch.hash_tensor(torch.empty(0))
torch.hash_tensor(torch.empty(0,3),0)
torch.hash_tensor(torch.empty(0,3),1)
torch.hash_tensor(torch.empty(3,0),1)
x = torch.tensor([[1.5, 2, 3], [4, 5, 6]]); torch.hash_tensor(x,mode=1)
x = torch.tensor([[1.5, 2, 3], [4, 5, 6]]); torch.hash_tensor(x,2)
x = torch.tensor([[1.5, 2, 3], [4, 5, 6]]); torch.hash_tensor(x,(0,0))
x = torch.tensor([[1.5, 2, 3], [4, 5, 6]]); torch.hash_tensor(x,[])
x = torch.tensor([[1.5, 2, 3], [4, 5, 6]]); torch.hash_tensor(x,None)
x = torch.tensor([[1.5, 2, 3], [4, 5, 6]]); x.hash_tensor()
x = torch.tensor([[1.5, 2, 3], [4, 5, 6]]); torch.hash_tensor(x,0,False)
x = torch.tensor([[1.5, 2, 3], [4, 5, 6]]); torch.hash_tensor(x,out=torch.empty(0,dtype=torch.uint64))
x = torch.tensor([[1.5, 2, 3], [4, 5, 6]]); torch.hash_tensor(x,out=torch.empty(0))
x = torch.tensor([[1.5, 2, 3], [4, 5, 6]]); torch.hash_tensor(x,out=torch.empty(0,dtype=torch.int64))
torch.hash_tensor(torch.tensor(3.))
torch.hash_tensor(torch.tensor(3.),0)
torch.hash_tensor(torch.tensor(3.),0,keepdim=True)
x = torch.tensor([[1.5, 2, 3], [4, 5, 6]]); torch.hash_tensor(x.clone().requires_grad_()).requires_grad
torch.hash_tensor(torch.tensor([0.0,-0.0]))
torch.hash_tensor(torch.tensor([float("nan"),1.]))
torch.hash_tensor(torch.zeros(2,3,device="meta"),0).shape
torch.hash_tensor(torch.arange(24.).view(2,3,4),(0,2))
torch.hash_tensor(torch.arange(24.).view(2,3,4).transpose(0,2),(0,2),keepdim=True).stride()
torch.hash_tensor(torch.arange(24).view(2,3,4),-1)
x = torch.tensor([[1.5, 2, 3], [4, 5, 6]]); torch.hash_tensor(x, dim="a")
x = torch.tensor([[1.5, 2, 3], [4, 5, 6]]); torch.ops.aten.hash_tensor(x, [0])
""")
def test_as_pytorch(line):
    alike(line)


@pytest.mark.parametrize(
    "dtype",
    "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64 uint16 uint64 float8_e5m2".split(),
)
def test_dtypes(dtype):
    alike(f"torch.hash_tensor(torch.tensor([1, 3, 0]).to(torch.{dtype})).item()")
