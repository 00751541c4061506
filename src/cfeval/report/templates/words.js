/* Which words of a text changed, and which name what is cited. */
const tokens = (text) => text.split(/(\s+)/).filter(Boolean);
const words = (text) => tokens(text).filter((token) => token.trim()).map(plain);
function plain(word) { return word.toLowerCase().replace(/[^\p{L}\p{N}%°]/gu, ""); }
const MOST_WORDS = 600;  // of a text that is compared: the table below is that long squared
const FILLERS = new Set("a an the of in is at on to and it that so".split(" "));

/* For each word of `after`, whether it is outside the longest common run of words with `before`. */
function changedWords(before, after) {
  const a = words(before).slice(0, MOST_WORDS), b = words(after).slice(0, MOST_WORDS);
  const longest = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  const changed = new Array(b.length).fill(true);
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) { changed[j] = false; i++; j++; }
    else if (longest[i + 1][j] >= longest[i][j + 1]) i++;
    else j++;
  }
  return changed;
}

/* For each word of a text, whether it belongs to one of the cited concepts; lone fillers do not. */
function citedWords(text, concepts) {
  const wanted = new Set(concepts.flatMap(words).filter((word) => word && !FILLERS.has(word)));
  const all = words(text), marks = all.map((word) => wanted.has(word));
  return marks.map((mark, i) => mark || (FILLERS.has(all[i]) && Boolean(marks[i - 1]) && Boolean(marks[i + 1])));
}

/* The text with runs of marked words in elements of this tag. */
function marked(text, marks, tag) {
  const made = document.createDocumentFragment();
  let place = 0, run = null, gap = "";
  for (const token of tokens(text)) {
    if (!token.trim()) { gap += token; continue; }
    if (marks[place++]) {
      if (run) run.append(gap + token);
      else { run = element(tag, {}, token); made.append(gap, run); }
    } else {
      made.append(gap + token);
      run = null;
    }
    gap = "";
  }
  made.append(gap);
  return made;
}

const LONG = 260;  // characters: a longer text is folded
function text(said, marks, tag) {
  if (!said) return null;
  const made = element("span.exp", { dir: "auto" }, marked(said, marks, tag));
  if (said.length <= LONG) return made;
  made.classList.add("long");
  return [made, element("button.quiet", { type: "button", onclick: (event) => { made.classList.remove("long"); event.currentTarget.remove(); } }, "all of it")];
}
