"""Every form of index, assignment, and op with an index or a mask: PyTorch's result, exception and warnings."""

from alike import alike, cases


@cases("""
torch.ones(3).adjoint()
torch.adjoint(torch.ones(3))
torch.tensor_split(torch.ones(3),torch.tensor([1.]))
torch.tensor_split(torch.ones(()),2)
torch.tensor_split(torch.ones(3),0)
torch.tensor_split(torch.ones(3),torch.tensor(-1))
torch.tensor_split(torch.ones(3),torch.ones(2,2,dtype=torch.int64))
torch.tensor_split(torch.ones(3),2,dim=3)
torch.tensor_split(torch.ones(3),(2,),dim=3)
torch.tensor_split(torch.ones(3),torch.tensor([1.]),dim=0)
torch.ones(3,3).swapdims(5,0)
torch.ones(3,3).transpose(5,0)
torch.ones(()).transpose(1,0)
torch.ones(3).transpose(0,-5)
torch.ones(0).index_put_((torch.tensor([0]),),torch.ones(1),accumulate=True)
torch.zeros(0,3).index_put_((torch.tensor([0]),),torch.ones(3),accumulate=True)
torch.arange(5)[0.0:2.0]
torch.arange(5)["0":"1"]
torch.arange(5)[None:None]
torch.arange(5)[torch.tensor(1):torch.tensor(3)]
torch.arange(5)[torch.tensor(1.):torch.tensor(3.)]
torch.arange(5)[torch.tensor([1]):]
torch.arange(5)[torch.tensor([1,2]):]
torch.arange(5)[np.int64(1):np.int32(3)]
torch.arange(5)[np.float64(1):]
torch.arange(5)[np.array(1):]
torch.arange(5)[True:3]
torch.arange(5)[1j:]
torch.arange(5)[[1]:]
torch.arange(5)[::0]
torch.arange(5)[::-1]
torch.arange(5)[::2.0]
torch.arange(5)[1.0]
torch.arange(5)["a"]
torch.arange(5)[1j]
torch.arange(5)[None]
torch.arange(5)[object()]
torch.arange(5)[{}]
torch.arange(5)[()]
torch.arange(5)[[]]
torch.arange(5)[[[]]]
torch.arange(5)[[1.0]]
torch.arange(5)[["a"]]
torch.arange(5)[[None]]
torch.arange(5)[[True,False,True,False,True]]
torch.arange(5)[[True,False]]
torch.arange(5)[True]
torch.arange(5)[False]
torch.arange(5)[torch.tensor(True)]
torch.arange(5)[np.bool_(True)]
torch.arange(5)[np.bool_(False)]
torch.arange(5)[np.float32(1)]
torch.arange(5)[np.array([1.,2.])]
torch.arange(5)[np.array([1,2])]
torch.arange(5)[np.array([True]*5)]
torch.arange(5)[np.array(2)]
torch.arange(5)[np.array(True)]
torch.arange(5)[torch.tensor(1.)]
torch.arange(5)[torch.tensor([1.])]
torch.arange(5)[torch.tensor(1j)]
torch.arange(5)[torch.tensor([1,2],dtype=torch.int32)]
torch.arange(5)[torch.tensor([1,2],dtype=torch.int16)]
torch.arange(5)[torch.tensor(1,dtype=torch.int16)]
torch.arange(5)[torch.tensor(1,dtype=torch.uint8)]
torch.arange(5)[5]
torch.arange(5)[-6]
torch.arange(5)[torch.tensor(5)]
torch.arange(5)[torch.tensor([5])]
torch.arange(5)[[5]]
torch.arange(5)[[-6]]
torch.arange(5)[1,2]
torch.arange(5)[...,...]
torch.arange(5)[...,1]
torch.arange(5)[1,...]
torch.arange(5)[:,None]
torch.arange(6).view(2,3)[1,[0,2]]
torch.arange(6).view(2,3)[[0,1],[0,2]]
torch.arange(6).view(2,3)[[0,1],[0,1,2]]
torch.arange(6).view(2,3)[[[0,1],[0,2]]]
torch.arange(6).view(2,3)[([0,1],[0,2])]
torch.arange(6).view(2,3)[[0,slice(None)]]
torch.arange(6).view(2,3)[[slice(None),0]]
torch.arange(6).view(2,3)[[None,0]]
torch.arange(6).view(2,3)[[...,0]]
torch.arange(6).view(2,3)[range(2)]
torch.arange(6).view(2,3)[(0,1)]
torch.arange(6).view(2,3)[(range(2),range(2))]
torch.arange(6).view(2,3)[torch.ones(2,3)>0]
torch.arange(6).view(2,3)[torch.ones(3)>0]
torch.arange(6).view(2,3)[:,torch.ones(3)>0]
torch.arange(6).view(2,3)[:,torch.ones(2)>0]
torch.arange(6).view(2,3)[torch.ones(2,3,1)>0]
torch.arange(6).view(2,3)[torch.ones(3,2)>0]
torch.tensor(5)[0]
torch.tensor(5)[...]
torch.tensor(5)[()]
torch.tensor(5)[:]
torch.tensor(5)[None]
torch.tensor(5)[True]
torch.tensor(5)[[0]]
torch.tensor(5)[torch.tensor(0)]
torch.arange(6).view(2,3)[0.0,1]
torch.arange(6).view(2,3)[0,1.0]
torch.arange(6).view(2,3)[0,"a"]
torch.arange(6).view(2,3)["a",0]
torch.arange(6).view(2,3)[0,0.0:1]
torch.arange(6).view(2,3)[[0],0.0:1]
torch.arange(6).view(2,3)[[0],"a"]
torch.arange(6).view(2,3)[0,0,0]
torch.arange(5)[2**63]
torch.arange(5)[2**64:]
torch.arange(5)[:2**63]
x=torch.arange(5); x[0.0]=1
x=torch.arange(5); x["a"]=1
x=torch.arange(5); x[0.0:1]=1
x=torch.arange(5); x["0":]=1
x=torch.arange(5); x[::-1]=1
x=torch.arange(5); x[::0]=1
x=torch.arange(5); x[6]=1
x=torch.arange(5); x[[6]]=1
x=torch.arange(5); x[0]="a"
x=torch.arange(5); x[0]=None
x=torch.arange(5); x[0]=[1]
x=torch.arange(5); x[0:2]=[1,2]; x
x=torch.arange(5); x[0:2]=(1,2); x
x=torch.arange(5); x[0:2]=np.array([7,8]); x
x=torch.arange(5); x[0]=np.float64(2.5); x
x=torch.arange(5); x[0]=np.array(2.5); x
x=torch.arange(5); x[0]=2.7; x
x=torch.arange(5); x[0]=True; x
x=torch.arange(5); x[0]=1j; x
x=torch.arange(5); x[0]=float('nan'); x
x=torch.arange(5); x[0]=2**70; x
x=torch.arange(5.); x[0]=2**70; x
x=torch.arange(5); x[[0,1]]=2.7; x
x=torch.arange(5); x[[0,1]]=torch.tensor(2.7); x
x=torch.arange(5); x[[0,1]]=torch.tensor([2.7,1]); x
x=torch.arange(5); x[x>2]=2.7; x
x=torch.arange(5); x[x>2]=torch.tensor(2.7); x
x=torch.arange(5); x[x>2]=torch.tensor([2.7,1]); x
x=torch.arange(5); x[x>2]=torch.tensor([2,1,3]); x
x=torch.arange(5); x[True]=7; x
x=torch.arange(5); x[False]=7; x
x=torch.arange(5); x[...]=7; x
x=torch.arange(5); x[()]=7; x
x=torch.arange(5); x[None]=torch.tensor([[1,2,3,4,5]]); x
x=torch.arange(5); x[0:3]=torch.tensor([1,2]); x
x=torch.arange(5); x[0]=torch.tensor([[1]]); x
x=torch.arange(5); x[0:2]=torch.tensor([[[1,2]]]); x
x=torch.arange(5); x[[]]=3; x
x=torch.arange(5); x[[1.5]]=3; x
x=torch.arange(5); x[np.array([1,2])]=3; x
x=torch.arange(5); x[np.bool_(True)]=3; x
x=torch.arange(5); x[torch.tensor(2)]=3; x
x=torch.arange(5); x[[True]*4]=3; x
x=torch.tensor(5); x[0]=1
x=torch.tensor(5); x[()]=1; x
x=torch.tensor(5); x[...]=1; x
x=torch.arange(5); del x[0]
torch.zeros(1).masked_scatter_(torch.ones(3,dtype=torch.bool),torch.ones(3))
torch.zeros(3).masked_scatter_(torch.ones(1,dtype=torch.bool),torch.ones(3))
torch.zeros(3).masked_scatter_(torch.ones(3,dtype=torch.bool),torch.ones(2))
torch.zeros(3).masked_scatter_(torch.ones(3,dtype=torch.bool),torch.ones(3,dtype=torch.int64))
torch.zeros(3).masked_scatter_(torch.ones(2,dtype=torch.bool),torch.ones(3))
torch.zeros(3).masked_scatter_(torch.ones(2,3,dtype=torch.bool),torch.ones(6))
torch.zeros(3).masked_scatter(torch.ones(2,3,dtype=torch.bool),torch.ones(6))
torch.zeros(1).masked_scatter(torch.ones(3,dtype=torch.bool),torch.ones(6))
torch.zeros(1).masked_fill_(torch.ones(3,dtype=torch.bool),2)
torch.zeros(3).masked_fill_(torch.ones(2,dtype=torch.bool),2)
torch.zeros(3).masked_fill_(torch.ones(2,3,dtype=torch.bool),2)
torch.zeros(3).masked_fill(torch.ones(2,3,dtype=torch.bool),2)
torch.zeros(3).masked_fill(torch.ones(3,dtype=torch.bool),torch.ones(2))
torch.zeros(3).masked_fill(torch.ones(3,dtype=torch.bool),torch.ones(1))
torch.zeros(3,dtype=torch.int64).masked_fill(torch.ones(3,dtype=torch.bool),1.5)
torch.zeros(3,dtype=torch.int64).masked_fill_(torch.ones(3,dtype=torch.bool),torch.tensor(1.5))
torch.zeros(3).masked_fill(torch.ones(3,dtype=torch.bool),1j)
torch.zeros(3,dtype=torch.bool).masked_fill(torch.ones(3,dtype=torch.bool),3)
torch.zeros(3,dtype=torch.uint8).masked_fill(torch.ones(3,dtype=torch.bool),300)
torch.zeros(3).masked_select(torch.ones(2,dtype=torch.bool))
torch.zeros(3).masked_select(torch.ones(2,3,dtype=torch.bool)).shape
torch.zeros(3).masked_select(torch.ones(3))
torch.zeros(3).index_put_((torch.tensor([0,1]),),torch.ones(3))
torch.zeros(3).index_put_((torch.tensor([5]),),torch.ones(1))
torch.zeros(3).index_put_((torch.tensor([0.]),),torch.ones(1))
torch.zeros(3).index_put_((torch.tensor([0]),torch.tensor([0])),torch.ones(1))
torch.zeros(3).index_put_((torch.tensor([0]),),torch.ones(1,dtype=torch.int64))
torch.zeros(3).index_put_([torch.tensor([0])],torch.ones(()),accumulate=True)
torch.zeros(3).index_put((torch.ones(3)>0,),torch.ones(2))
torch.zeros(3).index_copy_(0,torch.tensor([0,1]),torch.ones(3))
torch.zeros(3).index_copy_(0,torch.tensor([5]),torch.ones(1))
torch.zeros(3).index_copy_(0,torch.tensor([0]),torch.ones(1,dtype=torch.int64))
torch.zeros(3).index_copy_(0,torch.tensor([0],dtype=torch.int32),torch.ones(1))
torch.zeros(3).index_copy_(1,torch.tensor([0]),torch.ones(1))
torch.zeros(3,2).index_copy_(0,torch.tensor([0]),torch.ones(1,3))
torch.zeros(3,2).index_copy_(0,torch.tensor([[0]]),torch.ones(1,2))
torch.zeros(3,2).index_copy_(0,torch.tensor(0),torch.ones(2))
torch.zeros(3,2).index_copy_(0,torch.tensor([0]),torch.ones(()))
torch.zeros(3).index_add_(0,torch.tensor([0,1]),torch.ones(3))
torch.zeros(3).index_add_(0,torch.tensor([0]),torch.ones(1,dtype=torch.int64))
torch.zeros(3).index_add_(0,torch.tensor([0.]),torch.ones(1))
torch.zeros(3,2).index_add_(0,torch.tensor([0]),torch.ones(1,3))
torch.zeros(3,2).index_add_(0,torch.tensor([0]),torch.ones(2))
torch.zeros(3).index_fill_(0,torch.tensor([5]),1)
torch.zeros(3).index_fill_(0,torch.tensor([0.]),1)
torch.zeros(3).index_fill_(0,torch.tensor([[0]]),1)
torch.zeros(3).index_fill_(0,torch.tensor([0]),torch.ones(1))
torch.zeros(3).index_fill_(0,torch.tensor([0],dtype=torch.int32),1)
torch.zeros(3).index_select(0,torch.tensor([5]))
torch.zeros(3).index_select(0,torch.tensor([[0]]))
torch.zeros(3).index_select(0,torch.tensor([0.]))
torch.zeros(3).index_select(0,torch.tensor([0],dtype=torch.int16))
torch.zeros(3).scatter_(0,torch.tensor([5]),torch.ones(1))
torch.zeros(3).scatter_(0,torch.tensor([0,1]),torch.ones(1))
torch.zeros(3).scatter_(0,torch.tensor([0],dtype=torch.int32),torch.ones(1))
torch.zeros(3).scatter_(0,torch.tensor([0]),torch.ones(1,dtype=torch.int64))
torch.zeros(3).scatter_(0,torch.tensor([0]),1,reduce='foo')
torch.zeros(3).scatter_(0,torch.tensor([[0]]),1)
torch.zeros(3,2).scatter_(0,torch.tensor([[0,0,0]]),1)
torch.zeros(3).scatter_add_(0,torch.tensor([0,1]),torch.ones(1))
torch.zeros(3).scatter_reduce_(0,torch.tensor([0]),torch.ones(1),'foo')
torch.zeros(3).gather(0,torch.tensor([5]))
torch.zeros(3).gather(0,torch.tensor([[0]]))
torch.zeros(3,2).gather(0,torch.tensor([[0,0,0]]))
torch.zeros(3).gather(0,torch.tensor([0],dtype=torch.int32))
torch.zeros(3).take(torch.tensor([5]))
torch.zeros(3).take(torch.tensor([0.]))
torch.zeros(3).put_(torch.tensor([5]),torch.ones(1))
torch.zeros(3).put_(torch.tensor([0]),torch.ones(2))
torch.zeros(3).put_(torch.tensor([0]),torch.ones(1,dtype=torch.int64))
torch.zeros(0)[0]
torch.zeros(0)[torch.tensor([0])]
torch.zeros(0,3)[:,1].shape
torch.zeros(0).index_select(0,torch.tensor([0]))
torch.zeros(0).take(torch.tensor([0]))
torch.tensor(1.).repeat_interleave(2,dim=0)
torch.tensor(1.).repeat_interleave(2)
torch.tensor(1.).repeat_interleave(torch.tensor([2]),dim=0)
torch.ones(2).repeat_interleave(2,dim=1)
torch.ones(2).repeat_interleave(torch.tensor([1,2,3]))
torch.ones(2).repeat_interleave(-1)
torch.ones(2).repeat_interleave(torch.tensor([1.,2.]))
torch.ones(2).repeat_interleave(torch.tensor([[1,2]]))
torch.ones(2).repeat_interleave(torch.tensor([1,2]),output_size=4)
torch.ones(2).repeat_interleave(2.0)
torch.repeat_interleave(torch.tensor([1,-2]))
torch.ones(2,3).repeat_interleave(torch.tensor(2),dim=1)
x=torch.arange(5); x[0]=np.float32(2.5); x
x=torch.arange(5); x[0]=np.int32(2); x
x=torch.arange(5); x[0]=np.bool_(True); x
x=torch.arange(5); x[[0,1]]=np.float32(2.5); x
x=torch.arange(5); x[[0,1]]=np.array([1,2]); x
torch.zeros(3,2).index_add_(0,torch.tensor([5]),torch.ones(1,2))
torch.zeros(3,2).index_add_(1,torch.tensor([5]),torch.ones(3,1))
torch.zeros(3,2).index_add_(0,torch.tensor([-1]),torch.ones(1,2))
torch.zeros(3,2).index_add_(0,torch.tensor([5],dtype=torch.int32),torch.ones(1,2))
torch.zeros(3).index_add_(0,torch.tensor([5]),torch.ones(1))
torch.zeros(3,dtype=torch.int64).index_add(0,torch.tensor([-1]),torch.ones(1,dtype=torch.int64))
torch.zeros(3).fill_(1j)
torch.zeros(3,dtype=torch.int64).fill_(1j)
torch.zeros(3)+2**70
torch.zeros(3,dtype=torch.int64)*2**64
torch.zeros(3,2).masked_scatter_(torch.ones(2,dtype=torch.bool),torch.ones(6))
torch.zeros(3,2).masked_scatter_(torch.ones(3,3,dtype=torch.bool),torch.ones(6))
torch.arange(6).view(2,3)[...,0,...]
torch.arange(6).view(2,3)[0,...,...]
torch.arange(12).view(2,3,2)[[[0,1],[0,2]]]
torch.arange(12).view(2,3,2)[[[0,1]]]
torch.arange(12).view(2,3,2)[[0,1]]
torch.arange(12).view(2,3,2)[[torch.tensor(0),torch.tensor(1)]]
torch.arange(12).view(2,3,2)[[torch.tensor(0),1]]
torch.arange(12).view(2,3,2)[[np.array(0),np.array(1)]]
torch.arange(12).view(2,3,2)[[np.array([0]),np.array([1])]]
torch.arange(12).view(2,3,2)[[(0,1),(0,1)]]
torch.arange(12).view(2,3,2)[[range(2),range(2)]]
torch.arange(12).view(2,3,2)[[[0]]*40].shape
x=torch.arange(6).view(2,3); x[[[0,1],[0,2]]]=9; x
x=torch.arange(6).view(2,3); x[[slice(None),0]]=9; x
x=torch.arange(6.).view(2,3).requires_grad_(); x[[[0,1],[0,2]]].sum().backward(); x.grad
import array; torch.arange(5)[array.array('l',[1,2])]
torch.arange(5)[b"a"]
torch.arange(5)[{1}]
torch.arange(5)[(1.0,)]
torch.arange(5)[torch.Size([1])]
torch.tensor(1.).repeat_interleave(2,dim=-1)
torch.ones(2,2).repeat_interleave(2,dim=2)
torch.ones(2,2).repeat_interleave(2,dim=-3)
torch.ones(2,2).repeat_interleave(torch.tensor([1,2]),dim=2)
torch.ones(2,2).repeat_interleave(torch.tensor([1,2,3]),dim=0)
torch.ones(10)[::2].ravel().stride()
torch.ones(10)[::2].flatten().stride()
torch.ones(10)[::2].reshape(-1).stride()
torch.ones(10)[::2].reshape(5).stride()
torch.ones(4,4)[:,::2].ravel().stride()
torch.ones(4,4).t().ravel().stride()
torch.ravel(torch.ones(())).shape
torch.ravel(torch.ones(1,3).expand(2,3)).stride()
torch.ones(3,1).expand(3,4).flatten(0,0).stride()
torch.ones(1).expand(3).ravel().stride()
torch.ones(1).expand(3).flatten().stride()
x=torch.ones(10)[::2]; x.ravel().data_ptr()==x.data_ptr()
x=torch.ones(10); x.ravel().data_ptr()==x.data_ptr()
x=torch.ones(10); x.ravel() is x
x=torch.ones(10); x.flatten() is x
x=torch.ones(10); x.reshape(10) is x
x=torch.ones(10); x.reshape(-1) is x
x=torch.ones(10); x.contiguous() is x
x=torch.ones(()); x.flatten() is x
x=torch.ones(2,0,3); x.flatten(1).stride()
x=torch.ones(2,3,4); x.flatten(1,1) is x
torch.ones(2,3,4).flatten(2,1)
torch.ones(2,3,4).flatten(0,3)
torch.ones(2,3,4).unflatten(1,(3,1)).stride()
""")
def test_indices(line):
    """Indexing and assignment, and ops with index and mask arguments."""
    alike(line)
