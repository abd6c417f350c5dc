// The prompt below the output: lines that run in the script's namespace.

const $ = (id) => document.getElementById(id);

export function setUpRepl(engine, output, status) {
  const line = $("line");
  const history = [];
  let at = 0; // in the history; its length is the line being typed
  let typed = "";
  let waits = false; // Enter was pressed while Python was busy
  let asking = false; // whether the line is complete; what is typed meanwhile comes after it

  const fit = () => {
    line.rows = Math.min(8, line.value.split("\n").length);
  };

  async function submit() {
    const source = line.value.trimEnd();
    if (!source) return;
    if (engine.state !== "ready") {
      waits = engine.state !== "broken";
      status.say(engine.state === "starting" ? "Python is starting." : "The line runs when the script has ended.");
      return;
    }
    // a block goes on until an empty line ends it
    if (asking) return;
    asking = true;
    const whole = line.value;
    const complete = /\n\s*$/.test(whole) || (await engine.request("complete", { source }).catch(() => true));
    asking = false;
    const later = line.value.startsWith(whole) ? line.value.slice(whole.length) : "";
    if (!complete) {
      line.setSelectionRange(whole.length, whole.length);
      insert("\n");
      line.setSelectionRange(line.value.length, line.value.length);
      return;
    }
    history.push(source);
    at = history.length;
    line.value = later;
    fit();
    output.write(
      `${source
        .split("\n")
        .map((text, index) => `${index ? "... " : ">>> "}${text}`)
        .join("\n")}\n`,
      "in",
    );
    const began = performance.now();
    const options = { kind: "line" };
    const result = await engine.run(source, { name: "<input>", device: $("device").value || "cpu", options });
    if (result.status === "failed") {
      output.traceback(result.traceback);
      if (result.hint) output.hint(result.hint);
    } else if (result.status === "stopped") output.note("Stopped.");
    status.ran({ ...result, line: null }, (performance.now() - began) / 1000, options);
  }

  function insert(text) {
    const indent = line.value.slice(0, line.selectionStart).split("\n").at(-1).match(/^\s*/)[0];
    const deeper = /:\s*$/.test(line.value.slice(0, line.selectionStart)) ? "    " : "";
    line.setRangeText(text + indent + deeper, line.selectionStart, line.selectionEnd, "end");
    fit();
  }

  function recall(step) {
    if (at + step < 0 || at + step > history.length) return;
    if (at === history.length) typed = line.value;
    at += step;
    line.value = at === history.length ? typed : history[at];
    fit();
  }

  engine.addEventListener("state", () => {
    if (!waits || engine.state !== "ready") return;
    waits = false;
    submit();
  });
  line.addEventListener("input", fit);
  line.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const lines = (text) => text.split("\n").length;
    if (event.key === "Enter" && event.shiftKey) {
      event.preventDefault();
      insert("\n");
    } else if (event.key === "Enter") {
      event.preventDefault();
      submit();
    } else if (event.key === "ArrowUp" && lines(line.value.slice(0, line.selectionStart)) === 1) {
      event.preventDefault();
      recall(-1);
    } else if (event.key === "ArrowDown" && lines(line.value.slice(line.selectionEnd)) === 1) {
      event.preventDefault();
      recall(1);
    }
  });
  $("repl").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
}
