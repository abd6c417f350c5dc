"""What the search page asks of the script: the nearest passages."""

import json

import demo_runner


def answer(question):
    """JSON: {done} while the passages are read, {found: [[likeness, text], ...]} for a query afterwards."""
    query = json.loads(question).get("query")
    script = demo_runner.namespace()
    if query is None or "query" not in script:
        return json.dumps({"done": script.get("done", 0), "all": len(script.get("passages", ()))})
    found = script["search"](query)
    return json.dumps({"found": [[likeness, script["passages"][i]] for likeness, i in found]})
