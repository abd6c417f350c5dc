// A small network that tells two spirals apart. `torch` comes from load() in the npm package torchlite.

const STEPS = 400;

export async function train(torch, { draw, say }) {
  const { nn } = torch;

  class Net extends nn.Module {
    constructor(hidden = 32) {
      super();
      this.layers = nn.Sequential(
        nn.Linear(2, hidden),
        nn.Tanh(),
        nn.Linear(hidden, hidden),
        nn.Tanh(),
        nn.Linear(hidden, 1),
      );
    }
    forward(x) {
      return this.layers(x.mul(3)).squeeze(1);
    }
  }

  const [points, labels] = spirals(torch, 90);
  const model = new Net();
  const optimizer = new torch.optim.Adam(model.parameters(), { lr: 0.02 });

  for (let step = 1; step <= STEPS; step++) {
    const loss = nn.functional.binary_cross_entropy_with_logits(model(points), labels);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (step % 10 === 0) {
      await draw((places) => torch.no_grad(() => model(places).sigmoid()), points, labels);
      say(`step ${step} of ${STEPS}, loss ${loss.item().toFixed(4)}`);
    }
  }
}

/** Points in the square from -1 to 1, and 0 or 1 for each. */
function spirals(torch, count) {
  const t = torch.linspace(0.08, 1, count);
  const angle = t.mul(3 * Math.PI);
  const arm = torch.stack([angle.cos().mul(t), angle.sin().mul(t)], { dim: 1 });
  const points = torch
    .cat([arm, arm.neg()])
    .add(torch.randn(2 * count, 2).mul(0.02))
    .mul(0.9);
  return [points, torch.cat([torch.zeros(count), torch.ones(count)])];
}
