"""What the GPT page shows of the running script: its newest characters, and the attention between them."""

import json

import demo_runner
import torch
import torch.nn.functional as F


def answer(question):
    """JSON: step, written (the newest characters) and, for a layer and head, a row of weights for each character."""
    asked = json.loads(question)
    script = demo_runner.namespace()
    model, written, letters = (script.get(name) for name in ("model", "written", "letters"))
    if not written or not hasattr(model, "blocks"):
        return json.dumps(None)
    codes = written[-script["CONTEXT"] :]
    weights = _weights(model, torch.tensor([codes], device=next(model.parameters()).device), asked["layer"])
    heads = weights.shape[1]
    head = min(asked["head"], heads - 1)
    return json.dumps(
        {
            "step": script.get("step", 0),
            "written": [letters[code] for code in codes],
            "weights": [[round(w, 3) for w in row] for row in weights[0, head].tolist()],
            "layers": len(model.blocks),
            "heads": heads,
        }
    )


@torch.no_grad()
def _weights(model, codes, layer):
    """The attention of a layer, as (1, heads, characters, characters): the layer's own product, which does not keep it,
    gives it away where the values are the rows of an identity."""
    product, found, places = F.scaled_dot_product_attention, [], codes.shape[1]

    def watch(q, k, v, **options):
        eye = torch.eye(places, device=v.device).expand(*v.shape[:2], places, places)
        found.append(product(q, k, eye, **options))
        return product(q, k, v, **options)

    F.scaled_dot_product_attention = watch
    try:
        model(codes)
    finally:
        F.scaled_dot_product_attention = product
    return found[min(layer, len(found) - 1)].cpu()
