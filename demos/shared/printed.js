// What a page reads from the lines that its script prints.

const KEPT = 200; // characters: more than a line that is looked for

/** A function of printed text, in pieces of any size: `show` gets the first group of each newest match of `pattern`. */
export function reader(pattern, show) {
  let line = "";
  return (text) => {
    line = (line + text).slice(-KEPT);
    const found = [...line.matchAll(pattern)].at(-1);
    if (!found) return;
    show(found[1]);
    line = line.slice(found.index + found[0].length); // or it would be found again, without its first digits
  };
}
