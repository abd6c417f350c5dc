"""A world of one process."""

import pytest

import torchlite as torch

dist = torch.distributed


@pytest.fixture
def world():
    dist.init_process_group("gloo", rank=0, world_size=1)
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


def test_questions(world):
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend(), dist.is_initialized()) == (0, 1, "gloo", True)
    assert dist.get_world_size(dist.new_group([0])) == 1 and dist.barrier() is None
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("gloo", rank=0, world_size=1)
    dist.destroy_process_group()
    assert not dist.is_initialized() and not dist.is_available()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        dist.get_rank()


def test_collectives_are_copies(world):
    x, y, z = torch.tensor([1.0, 2.0]), torch.zeros(2), torch.zeros(2)
    assert dist.all_reduce(x, op=dist.ReduceOp.SUM) is None and dist.broadcast(x, 0) is None
    assert dist.all_reduce(x, async_op=True).wait() is True and x.tolist() == [1, 2]
    work = dist.all_gather([y], x, async_op=True)
    assert work.get_future().then(lambda f: [t.tolist() for t in f.value()]).wait() == [[1, 2]]
    assert work.result()[0] is y and work.is_completed()
    dist.all_gather([y], x)
    dist.all_gather_into_tensor(z, x)
    assert y.tolist() == z.tolist() == [1, 2]
    for write in (
        lambda out: dist.scatter(out, [x], 0),
        lambda out: dist.gather(x, [out], 0),
        lambda out: dist.reduce_scatter(out, [x]),
        lambda out: dist.reduce_scatter_tensor(out, x),
    ):
        out = torch.zeros(2)
        write(out)
        assert out.tolist() == [1, 2]
    objects = [None]
    dist.all_gather_object(objects, {"a": 1})
    dist.broadcast_object_list(objects, 0)
    assert objects == [{"a": 1}]
    sampler = torch.utils.data.distributed.DistributedSampler(range(5), shuffle=False)
    assert list(sampler) == [0, 1, 2, 3, 4]


def test_a_model_in_a_world_of_one(world):
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    model(torch.ones(1, 2)).sum().backward()
    assert list(model.state_dict()) == ["module.weight", "module.bias"]
    assert model.module.weight.grad.tolist() == [[1.0, 1.0]]


def test_other_processes_are_refused(world):
    x = torch.ones(2)
    for call in (lambda: dist.send(x, 1), lambda: dist.broadcast(x, 1), lambda: dist.new_group([0, 1])):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(ValueError, match="one tensor, but got 2"):
        dist.all_gather([x, x], x)
    dist.destroy_process_group()
    with pytest.raises(RuntimeError, match="world_size=2: torchlite runs in one process"):
        dist.init_process_group("gloo", rank=0, world_size=2)


def test_groups_by_name(world):
    from torchlite.distributed import distributed_c10d as c10d

    whole = dist.group.WORLD
    assert whole is dist.GroupMember.WORLD is c10d._get_default_group() and dist.group is c10d.group
    assert dist.get_process_group_ranks(whole) == [0] and dist.get_global_rank(whole, 0) == 0
    assert dist.all_reduce(torch.ones(1), group=dist.group.WORLD) is None and dist.monitored_barrier(whole) is None
    assert dist.Backend("GLOO") == "gloo" == dist.Backend.default_device_backend_map["cpu"]
    dist.destroy_process_group()
    assert dist.group.WORLD is None
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        c10d._get_default_group()


def test_rarer_collectives_are_copies(world):
    x, y, z, found = torch.tensor([1.0, 2.0]), torch.zeros(2), torch.zeros(2), [None]
    dist.all_to_all([y], [x])
    dist.all_to_all_single(z, x, [2], [2])
    dist.scatter_object_list(found, [{"a": 1}])
    assert y.tolist() == z.tolist() == [1, 2] and found == [{"a": 1}]
    with pytest.raises(RuntimeError, match="Split sizes doesn't match total dim 0 size"):
        dist.all_to_all_single(z, x, [1], [2])
    with pytest.raises(ValueError, match="world of one process"):
        dist.all_to_all([y, z], [x, x])


def test_gradients_pass_through_collectives(world):
    from torchlite.distributed import nn

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (nn.all_reduce(x) * 2 + nn.all_gather(x)[0] * 3 + nn.broadcast(x, 0) * 4).sum().backward()
    out = nn.all_to_all_single(torch.zeros(2), x)
    assert x.grad.tolist() == [9, 9] and out.tolist() == [1, 2] and out.requires_grad


def test_the_decorator_of_elastic_scripts():
    from torchlite.distributed.elastic.multiprocessing.errors import record

    @record
    def main(a, *, b=2):
        """Trains."""
        return a + b

    assert main(1, b=4) == 5 and main.__doc__ == "Trains."
    with pytest.raises(ZeroDivisionError):
        record(lambda: 1 // 0)()
