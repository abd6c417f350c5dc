// Before the editor is there: the script of the last visit as plain text. To a first visit the page brings an example.

try {
  const kept = JSON.parse(localStorage.getItem("playground.draft")); // as draft.js keeps it
  if (kept) document.getElementById("preview").textContent = kept.text;
} catch {
  // storage is off: the example stays
}
