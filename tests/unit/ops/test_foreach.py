"""torch._foreach_*: values, gradients, errors and what is returned, beside PyTorch."""

from alike import alike, cases


@cases("""
torch._foreach_add([torch.ones(2),torch.ones(3)],2)
torch._foreach_add([torch.ones(2),torch.ones(3)],[torch.ones(2),torch.ones(3)],alpha=3)
torch._foreach_add([torch.ones(2),torch.ones(3)],[1,2.5])
torch._foreach_add([torch.ones(2),torch.ones(3)],torch.tensor(4.))
torch._foreach_add([torch.ones(2),torch.ones(3)],torch.ones(2))
torch._foreach_mul([torch.ones(2),torch.ones(3)],torch.tensor(4.))
torch._foreach_mul([torch.ones(2),torch.ones(3)],torch.tensor([4.]))
torch._foreach_div([torch.ones(2)],[torch.ones(2,2)])
torch._foreach_add([torch.ones(2)],[1,2])
torch._foreach_add([torch.ones(2)],[])
torch._foreach_add([torch.ones(2)],[torch.ones(2)]*2)
torch._foreach_add([],1)
torch._foreach_abs([])
torch._foreach_abs_([])
torch._foreach_add([],[])
torch._foreach_sub([torch.ones(2)],[torch.ones(2)],alpha=2)
torch._foreach_add_([torch.ones(2)],1)
x=[torch.ones(2),torch.ones(3)]; r=torch._foreach_add_(x,x,alpha=2); [r,x]
x=[torch.ones(2),torch.ones(3)]; torch._foreach_mul_(x,3.); x
x=[torch.ones(2),torch.ones(3)]; torch._foreach_addcmul_(x,x,x,value=.5); x
x=[torch.ones(2),torch.ones(3)]; torch._foreach_addcdiv_(x,x,x,[.5,2.]); x
x=[torch.ones(2),torch.ones(3)]; torch._foreach_addcdiv_(x,x,x,torch.tensor([.5,2.])); x
x=[torch.ones(2),torch.ones(3)]; torch._foreach_addcdiv(x,x,x,torch.tensor([.5]))
x=[torch.ones(2),torch.ones(3)]; torch._foreach_addcdiv(x,x,x,torch.tensor([[.5,1]]))
x=[torch.ones(2),torch.ones(3)]; torch._foreach_addcmul(x,x,x)
x=[torch.ones(2),torch.ones(3)]; torch._foreach_addcmul(x,x,x,scalars=[1.,2.])
x=[torch.ones(2),torch.ones(3)]; torch._foreach_addcmul(x,x,x[:1])
x=[torch.ones(2),torch.ones(3)]; torch._foreach_addcmul(x,x,x,[1.])
x=[torch.ones(2),torch.ones(3)]; torch._foreach_lerp(x,[2*t for t in x],.5)
x=[torch.ones(2),torch.ones(3)]; torch._foreach_lerp(x,[2*t for t in x],[.5,.25])
x=[torch.ones(2),torch.ones(3)]; torch._foreach_lerp(x,[2*t for t in x],x)
x=[torch.ones(2),torch.ones(3)]; torch._foreach_lerp_(x,[2*t for t in x],weight=.5); x
x=[torch.arange(2.),torch.ones(3)]; torch._foreach_pow(x,2)
x=[torch.arange(2.),torch.ones(3)]; torch._foreach_pow(2.,x)
x=[torch.arange(2.),torch.ones(3)]; torch._foreach_pow(x,[2.,.5])
x=[torch.arange(2.),torch.ones(3)]; torch._foreach_pow(x,x)
x=[torch.arange(2.),torch.ones(3)]; torch._foreach_pow_(x,exponent=3); x
x=[torch.arange(2.),torch.ones(3)];
    [torch._foreach_maximum(x,.5),torch._foreach_minimum(x,.5),torch._foreach_clamp_min(x,.5),
    torch._foreach_clamp_max(x,.5)]
x=[torch.arange(2.),torch.ones(3)];
    [torch._foreach_maximum(x,[.5,2.]),torch._foreach_minimum(x,[.5,1]),torch._foreach_clamp_min(x,[.5,1]),
    torch._foreach_clamp_max(x,[.5,1])]
x=[torch.arange(2.),torch.ones(3)];
    [torch._foreach_maximum(x,x),torch._foreach_minimum(x,x),torch._foreach_clamp_min(x,x),
    torch._foreach_clamp_max(x,x)]
x=[torch.arange(2.),torch.ones(3)]; torch._foreach_maximum_(x,.5); torch._foreach_clamp_max_(x,scalars=[.5,2]);
    torch._foreach_minimum_(x,other=x); x
x=[torch.arange(2.),torch.ones(3)];
    [torch._foreach_norm(x),torch._foreach_norm(x,1),torch._foreach_norm(x,math.inf),
    torch._foreach_norm(x,2,dtype=torch.float64)]
x=[torch.arange(2.),torch.ones(3)]; torch._foreach_norm(x,ord=3)
x=[torch.arange(2.),torch.ones(3)]; [torch._foreach_powsum(x),torch._foreach_powsum(x,3)]
x=[torch.arange(2.),torch.ones(3)]; torch._foreach_max(x)
x=[torch.arange(2.),torch.ones(3)]; torch._foreach_clone(x)
x=[torch.ones(2,2),torch.ones(3,2)]; torch._foreach_mm(x,[torch.ones(2,1)]*2)
x=[torch.arange(2.),torch.ones(3)]; torch._foreach_zero_(x); x
x=[torch.arange(2.),torch.ones(3)]; torch._foreach_copy_(x,[torch.ones(2),torch.arange(3)]); x
x=[torch.arange(2.),torch.ones(3)]; torch._foreach_copy_(x,[torch.ones(2)])
x=[torch.rand(2).requires_grad_(),torch.rand(3).requires_grad_()]; y=torch._foreach_mul(torch._foreach_exp(x),x);
    sum(t.sum() for t in y).backward(); [t.grad for t in x]
x=[torch.rand(2).requires_grad_(),torch.rand(3).requires_grad_()]; y=torch._foreach_norm(x);
    sum(t.sum() for t in y).backward(); [t.grad for t in x]
x=[torch.ones(2,requires_grad=True)]; torch._foreach_add_(x,1)
sorted(n for n in dir(torch) if n.startswith('_foreach_'))
torch._foreach_add([torch.ones(2,dtype=torch.int64)],1.5)
torch._foreach_add_([torch.ones(2,dtype=torch.int64)],1.5)
torch._foreach_sqrt([torch.ones(2,dtype=torch.int64)])
torch._foreach_sqrt_([torch.ones(2,dtype=torch.int64)])
torch._foreach_add([torch.ones(2),3],1)
torch._foreach_nothing
""")
def test_foreach(line):
    alike(line)


@cases(
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round "
    "rsqrt sigmoid sign sin sinh sqrt tan tanh trunc".replace(" ", "\n")
)
def test_unary(line):
    alike(
        f"x = [torch.rand(2) * .5, torch.rand(3) * .5]; y = torch._foreach_{line}(x); torch._foreach_{line}_(x); [x, y]"
    )
