"""What tests of a page's workers share."""

# Changes the pool's `start`: the caller comes back when workers have done all parts but its own, or after a while.
PATIENT = """(debug, patience) => {
    const start = debug.calls[0];
    debug.calls[0] = (order) => {
        const started = start(order);
        const end = performance.now() + patience;
        while (started > 0 && !debug.exports.finished(0) && performance.now() < end) {}
        return started;
    };
}"""
