// The call around the cursor, and the arguments in a signature: text only, no editor.

/** The call that the cursor is in: {name, from, argument}; null outside of calls. */
export function callAt(text) {
  let depth = 0;
  let argument = 0;
  for (let at = text.length - 1; at >= 0; at--) {
    const char = text[at];
    if (")]}".includes(char)) depth++;
    else if ("([{".includes(char)) {
      if (depth > 0) depth--;
      else if (char === "(") {
        const name = text.slice(0, at).match(/(?:^|[^\w.])(?!def |class )([A-Za-z_][\w.]*)$/)?.[1];
        return name && !/\b(def|class)\s+[\w.]*$/.test(text.slice(0, at)) ? { name, from: at, argument } : null;
      } else return null;
    } else if (char === "," && depth === 0) argument++;
    else if (char === "\n" && depth === 0 && /^\S/.test(text.slice(at + 1)) && text[at + 1] !== ")") return null;
  }
  return null;
}

/** The arguments of "(a, b: tuple[int, int]=(1, 2)) -> Tensor" one by one, and what comes after them. */
export function argumentsOf(signature) {
  const list = [];
  let depth = 0;
  let start = 1;
  for (let at = 0; at < signature.length; at++) {
    const char = signature[at];
    if ("([{".includes(char)) depth++;
    else if (")]}".includes(char)) depth--;
    if ((char === "," && depth === 1) || (depth === 0 && char === ")")) {
      const part = signature.slice(start, at).trim();
      if (part) list.push(part);
      start = at + 1;
    }
    if (depth === 0 && at > 0) return { list, rest: signature.slice(at) };
  }
  return { list, rest: "" };
}
