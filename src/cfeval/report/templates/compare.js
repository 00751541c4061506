/* Original against counterfactual image: a slider, the changed pixels, both beside each other; and enlarged. */
const VISIBLE = 8;  // of 255: a smaller change of colour is not counted, as in the records

/* Draw the changed pixels of b in blue over a in gray; returns their share. */
function drawDifference(a, b, canvas) {
  const width = canvas.width = a.naturalWidth, height = canvas.height = a.naturalHeight;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(a, 0, 0, width, height);
  const shown = context.getImageData(0, 0, width, height), before = shown.data;
  context.drawImage(b, 0, 0, width, height);
  const after = context.getImageData(0, 0, width, height).data;
  let changed = 0;
  for (let i = 0; i < before.length; i += 4) {
    const by = Math.max(...[0, 1, 2].map((channel) => Math.abs(before[i + channel] - after[i + channel])));
    const gray = 190 + (before[i] * 0.3 + before[i + 1] * 0.59 + before[i + 2] * 0.11) * 0.2;
    const light = (255 - by) * 0.25;
    if (by > VISIBLE) changed++;
    [28, 93, 159].forEach((blue, channel) => { before[i + channel] = by > VISIBLE ? blue + light : gray; });
  }
  context.putImageData(shown, 0, 0);
  return changed / (width * height);
}

function compare(item, turn, large) {
  const a = image(item.img, "Original image: " + item.q), b = image(turn.img, "Counterfactual image: " + (turn.text || ""), "over");
  const knob = element("div.knob");
  const stage = element("div.stage", large ? {} : { onclick: () => enlarge(item, turn) }, a, b, knob, element("span.tag.l", {}, "original"), element("span.tag.r", {}, "edited"));
  const range = element("input", { type: "range", min: 0, max: 100, value: 50, "aria-label": "From the original to the counterfactual image" });
  const note = element("span.cap", { role: "status" });
  const put = () => {
    b.style.clipPath = `inset(0 0 0 ${range.value}%)`;
    knob.style.left = `calc(${range.value}% - 1px)`;
  };
  range.addEventListener("input", put);
  put();
  const modes = { Slide: "", "Side by side": "both", Difference: "diff", ...Object.fromEntries(Object.keys(turn.see || {}).map((name) => [name[0].toUpperCase() + name.slice(1), "see " + name])) };
  const buttons = Object.entries(modes).map(([title, mode]) => element("button", { type: "button", "aria-pressed": String(mode === ""), onclick: (event) => choose(event.currentTarget, mode) }, title));
  async function choose(button, mode) {
    for (const one of buttons) one.setAttribute("aria-pressed", String(one === button));
    stage.className = "stage " + mode.split(" ")[0];
    range.hidden = mode !== "";
    for (const one of stage.querySelectorAll(".drawn")) one.remove();
    note.textContent = "";
    if (mode.startsWith("see")) stage.append(image(turn.see[mode.slice(4)], "What the verifier looked at: " + mode.slice(4), "drawn"));
    if (mode !== "diff") return;
    await Promise.all([a.decode(), b.decode()]);
    const canvas = element("canvas.drawn", { role: "img", "aria-label": "Pixels that the edit changed, in blue" });
    try {
      note.textContent = `${(100 * drawDifference(a, b, canvas)).toFixed(1)} % of the pixels changed`;
      stage.append(canvas);
    } catch (error) {  // a browser may forbid reading images from disk; those in the page can always be read
      note.textContent = turn.share === undefined ? "This browser cannot compare files; use the packed report" : `${(100 * turn.share).toFixed(1)} % of the pixels changed`;
      stage.classList.add("blend");
    }
  }
  return element("figure.cmp", {}, stage, range, element("div.modes", {}, buttons), note);
}

function enlarge(item, turn) {
  const box = find("#box");
  const close = element("button", { type: "button", onclick: () => box.close(), autofocus: true }, "Close");
  const shown = turn && turn.img !== undefined ? compare(item, turn, true) : image(item.img, "Original image: " + item.q);
  box.replaceChildren(element("div.bh", {}, element("p", {}, element("b", {}, item.q), element("br"), element("i", {}, turn ? turn.text : "")), close), shown);
  box.showModal();
}

for (const dialog of document.querySelectorAll("dialog")) dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
