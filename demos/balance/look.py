"""What the balance page shows of the script, and the push that a visitor gives."""

import json

import demo_runner


def answer(question):
    """JSON: [place, angle] of the carts, the update, how long games last, and whether it plays. A push goes in."""
    script = demo_runner.namespace()
    carts = script.get("carts")
    if carts is None:
        return json.dumps(None)
    plays = "nudge" in script
    if plays:
        script["nudge"] += json.loads(question)["push"]
    late = script["lengths"][-script["CARTS"] :]
    return json.dumps(
        {
            "carts": [[round(x, 3), round(angle, 4)] for x, angle in carts[:, [0, 2]].tolist()],
            "update": script.get("update", 0),
            "length": sum(late) / len(late) if late else 0,
            "plays": plays,
            "games": script.get("games", 0),
        }
    )
