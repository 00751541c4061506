"use strict";
/* The labelling sheet: one item at a time, answers kept in the browser and saved as a file. Texts come from models and from
   files: they only ever become text nodes and values. */
(function () {
  const FORMAT = "cfeval-labels-1", SMALL = 160, SCALES = [1, 2, 4, 8];
  const data = JSON.parse(document.getElementById("data").textContent);
  const items = data.items;
  const at = (id) => document.getElementById(id);
  const state = { rater: "", labels: items.map(() => ({ comment: "" })), place: 0, saved: true, kept: false };
  let marked = "edit_valid";

  function element(tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  /* ---- What is answered ---- */

  const item = () => items[state.place];
  const label = () => state.labels[state.place];

  /* Which questions an answer is wanted to: an invalid edit has no scores. */
  function wanted(place) {
    return state.labels[place].edit_valid === "invalid" ? ["edit_valid"] : items[place].asks;
  }

  function complete(place) {
    return wanted(place).every((name) => state.labels[place][name]);
  }

  function content() {
    const labels = [];
    state.labels.forEach((said, place) => {
      const kept = { item: place + 1 };
      for (const name of wanted(place)) if (said[name]) kept[name] = said[name];
      if (said.comment.trim()) kept.comment = said.comment.trim();
      if (Object.keys(kept).length > 1) labels.push(kept);
    });
    return { format: FORMAT, sheet: data.sheet, rater: state.rater, labels: labels };
  }

  /* Takes over what a file or the browser kept; throws what is wrong with it. */
  function take(found) {
    if (!found || found.format !== FORMAT || !Array.isArray(found.labels)) throw new Error("This is no file of saved labels.");
    if (found.sheet !== data.sheet) throw new Error("These are the labels of another sheet.");
    if (typeof found.rater !== "string" || !found.rater.trim()) throw new Error("The file does not say whose labels these are.");
    const labels = items.map(() => ({ comment: "" }));
    for (const said of found.labels) {
      if (!said || !items[said.item - 1]) throw new Error("The file has labels of an item that is not on this sheet.");
      const mine = labels[said.item - 1];
      for (const name of items[said.item - 1].asks) {
        if (data.asks[name].answers.some(([word]) => word === said[name])) mine[name] = said[name];
      }
      if (typeof said.comment === "string") mine.comment = said.comment;
    }
    state.labels = labels;
    state.rater = found.rater.trim();
  }

  /* ---- Keeping and saving ---- */

  const shelf = (rater) => "cfeval-labels:" + data.sheet + ":" + rater.toLowerCase();

  function keep() {
    try {
      localStorage.setItem(shelf(state.rater), JSON.stringify(content()));
      state.kept = true;
    } catch (error) {
      state.kept = false;
    }
    at("kept").textContent = state.kept ? "kept in this browser" : "this browser keeps nothing: save before you close";
  }

  function recall(rater) {
    state.labels = items.map(() => ({ comment: "" }));
    state.rater = rater;
    try {
      take(JSON.parse(localStorage.getItem(shelf(rater))));
    } catch (error) {
      /* Nothing was kept under that name, or the browser keeps nothing. */
    }
    state.rater = rater;
  }

  function wellFormed(text) {
    return text.toWellFormed ? text.toWellFormed() : text;
  }

  function save() {
    const text = JSON.stringify(content(), (name, value) => (typeof value === "string" ? wellFormed(value) : value), 1) + "\n";
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "labels-" + (state.rater.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "rater") + "-" + data.sheet.slice(0, 8) + ".json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    state.saved = true;
    tell();
  }

  /* ---- What is shown ---- */

  function name(number, of) {
    if (number === 0) return "Original";
    return of > 2 ? "After change " + number : "Edited";
  }

  /* Pixels stay pixels where the picture is small or enlarged. */
  function sharpen(image, always) {
    image.decode().catch(() => undefined).then(() => image.classList.toggle("sharp", always || image.naturalWidth <= SMALL));
  }

  function picture(number) {
    const made = element("img");
    made.alt = "";
    made.src = data.pictures[item().pictures[number]];
    sharpen(made, false);
    return made;
  }

  function showPictures() {
    const of = item().pictures.length;
    at("pictures").replaceChildren(...item().pictures.map((_, number) => {
      const made = element("button", "picture");
      made.type = "button";
      made.title = "Show large";
      made.append(element("span", "caption", name(number, of)), picture(number));
      made.addEventListener("click", () => enlarge(number));
      return made;
    }));
  }

  function showChanges() {
    const last = item().changes.length - 1;
    at("changes").replaceChildren(...item().changes.map((change, number) => {
      const made = element("li", number === last ? "" : "earlier");
      if (last > 0) made.append(element("span", "tag", number === last ? "the edit to label" : "made before"), " ");
      made.append(element("span", "", change.positive));
      if (change.negative) made.append(element("span", "not", "Must not remain: " + change.negative));
      return made;
    }));
    if (last < 0) at("changes").append(element("li", "", "Nothing: both pictures should look the same."));
    at("changes").classList.toggle("one", last < 1);
  }

  function showTalk() {
    const said = label().edit_valid, talked = item().asks.length > 1;
    let instead = "";
    if (!said) instead = "Shown once you have said whether the edit is valid.";
    else if (said === "invalid") instead = "Not needed: the edit is invalid.";
    else if (!talked) instead = "The model was not asked about this picture: nothing more to label.";
    at("answer").textContent = item().answer;
    at("explanation").textContent = item().explanation;
    at("new-answer").textContent = instead ? "" : item().new_answer;
    at("new-explanation").textContent = instead || item().new_explanation;
    at("new-explanation").className = instead ? "muted" : "";
  }

  function choice(ask, [word, text, key]) {
    const made = element("label", "choice"), input = element("input");
    input.type = "radio";
    input.name = ask;
    input.value = word;
    input.addEventListener("change", () => answer(ask, word));
    made.append(input, element("span", "", text));
    if (text !== key) made.append(element("kbd", "", key.toUpperCase()));
    return made;
  }

  function question(ask) {
    const made = element("fieldset"), about = element("p", "muted", data.asks[ask].definition), row = element("div", "choices");
    made.dataset.ask = ask;
    about.id = "about-" + ask;
    made.setAttribute("aria-describedby", about.id);
    row.append(...data.asks[ask].answers.map((one) => choice(ask, one)));
    made.append(element("legend", "", data.asks[ask].title), about, row);
    made.addEventListener("focusin", () => mark(ask));
    return made;
  }

  function mark(ask) {
    marked = ask;
    for (const made of at("asks").children) made.classList.toggle("marked", made.dataset.ask === ask);
  }

  function showAsks() {
    at("asks").replaceChildren(...(label().edit_valid ? item().asks : ["edit_valid"]).map(question));
    refresh();
  }

  /* What an answer changes on the page, beside the answer itself. */
  function refresh() {
    for (const made of at("asks").children) made.disabled = !wanted(state.place).includes(made.dataset.ask);
    for (const input of at("asks").querySelectorAll("input")) input.checked = label()[input.name] === input.value;
    showTalk();
    tell();
  }

  function tell() {
    const done = items.filter((_, place) => complete(place)).length;
    at("bar").value = done;
    at("count").textContent = done + " of " + items.length + " labelled";
    at("person").textContent = state.rater;
    at("save").classList.toggle("attention", !state.saved);
    at("done").hidden = done < items.length;
    at("done").textContent = "All " + items.length + " items are labelled. " +
      (state.saved ? "Send the saved file to whom you have this page from." : "Save the file and send it to whom you have this page from.");
    Array.from(at("overview").children).forEach((button, place) => {
      button.classList.toggle("done", complete(place));
      button.setAttribute("aria-label", "Item " + (place + 1) + (complete(place) ? ", labelled" : ""));
      if (place === state.place) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    });
  }

  function show() {
    at("place").textContent = "Item " + (state.place + 1) + " of " + items.length;
    at("question").textContent = item().question;
    at("comment").value = label().comment;
    at("back").disabled = state.place === 0;
    at("next").disabled = state.place === items.length - 1;
    showChanges();
    showPictures();
    showAsks();
    focusOn(item().asks.find((name) => !label()[name] && wanted(state.place).includes(name)) || "edit_valid");
    scrollTo(0, 0);
  }

  function focusOn(ask) {
    const made = at("asks").querySelector('[data-ask="' + ask + '"]');
    (made.querySelector("input:checked") || made.querySelector("input")).focus({ preventScroll: true });
    made.scrollIntoView({ block: "nearest" });
    mark(ask);
  }

  /* ---- What people do ---- */

  function answer(ask, word) {
    const first = !label()[ask] && ask === "edit_valid";
    if (word === undefined) delete label()[ask];
    else label()[ask] = word;
    changed();
    if (first || (ask === "edit_valid" && word === undefined)) {
      showAsks();
      focusOn(ask);
    } else refresh();
  }

  function changed() {
    state.saved = false;
    keep();
  }

  function answerByKey(key) {
    const found = data.asks[marked].answers.find((one) => one[2] === key);
    if (!found || !wanted(state.place).includes(marked)) return false;
    answer(marked, found[0]);
    const asks = wanted(state.place), next = asks[asks.indexOf(marked) + 1];
    focusOn(marked);
    if (next) focusOn(next);
    else (at("next").disabled ? at("save") : at("next")).focus();
    return true;
  }

  function go(place) {
    if (place < 0 || place >= items.length) return;
    state.place = place;
    show();
  }

  function goToUnlabelled() {
    const order = items.map((_, step) => (state.place + 1 + step) % items.length);
    const found = order.find((place) => !complete(place));
    if (found !== undefined) go(found);
  }

  function begin(saved) {
    at("start").close();
    document.querySelector("main").hidden = false;
    state.saved = saved || content().labels.length === 0;
    keep();
    const first = items.findIndex((_, place) => !complete(place));
    go(Math.max(first, 0));
  }

  function ask() {
    at("rater").value = state.rater;
    at("fault").hidden = true;
    at("load").value = "";
    at("start").showModal();
    at("rater").focus();
  }

  function load() {
    const file = at("load").files[0];
    if (!file) return;
    file.text().then((text) => {
      let found;
      try { found = JSON.parse(text); } catch (error) { throw new Error("This is no file of saved labels."); }
      take(found);
      begin(true);
    }).catch((error) => {
      at("fault").textContent = error.message;
      at("fault").hidden = false;
      at("load").value = "";
    });
  }

  /* ---- Large pictures, one in the place of the other ---- */

  const view = { number: 0, scale: 0 };

  function enlarge(number) {
    view.number = number;
    view.scale = 0;
    at("tabs").replaceChildren(...item().pictures.map((_, one) => {
      const made = element("button", "", name(one, item().pictures.length));
      made.type = "button";
      made.addEventListener("click", () => { view.number = one; showLarge(); at("stage").focus(); });
      return made;
    }));
    at("zoom").showModal();
    at("stage").focus();
    showLarge();
  }

  function showLarge() {
    const large = at("large"), size = 100 * SCALES[view.scale] + "%";
    large.src = data.pictures[item().pictures[view.number]];
    sharpen(large, view.scale > 0);
    large.style.width = large.style.height = size;
    at("shown").textContent = name(view.number, item().pictures.length);
    at("scale").textContent = view.scale ? SCALES[view.scale] + " ×" : "fit";
    at("smaller").disabled = view.scale === 0;
    at("larger").disabled = view.scale === SCALES.length - 1;
    Array.from(at("tabs").children).forEach((button, one) => button.setAttribute("aria-pressed", String(one === view.number)));
  }

  function flip() {
    view.number = (view.number + 1) % item().pictures.length;
    showLarge();
  }

  /* The middle of what is seen stays in the middle. */
  function resize(step) {
    const stage = at("stage"), before = SCALES[view.scale];
    const middle = [(stage.scrollLeft + stage.clientWidth / 2) / before, (stage.scrollTop + stage.clientHeight / 2) / before];
    view.scale = Math.min(Math.max(view.scale + step, 0), SCALES.length - 1);
    showLarge();
    stage.scrollLeft = middle[0] * SCALES[view.scale] - stage.clientWidth / 2;
    stage.scrollTop = middle[1] * SCALES[view.scale] - stage.clientHeight / 2;
  }

  /* ---- Keys ---- */

  const ZOOM_KEYS = { f: flip, " ": flip, z: () => at("zoom").close(), "+": () => resize(1), "=": () => resize(1), "-": () => resize(-1) };
  const KEYS = {
    enter: () => go(state.place + 1), b: () => go(state.place - 1), u: goToUnlabelled, s: save,
    z: () => enlarge(item().pictures.length - 1), c: () => at("comment").focus(), "?": () => at("reading").showModal(),
    delete: () => answer(marked), backspace: () => answer(marked),
  };

  function pressed(event) {
    const target = event.target, key = event.key.toLowerCase();
    if (event.ctrlKey || event.metaKey || event.altKey || !state.rater) return;
    if (target === at("comment") && key === "escape") return focusOn(marked);
    if (!at("keys").checked || target.matches("textarea, input:not([type=radio])")) return;
    const onButton = target.matches("button") && (key === "enter" || key === " ");
    if (onButton || at("start").open || at("reading").open) return;
    const found = at("zoom").open ? ZOOM_KEYS[key] : KEYS[key] || (() => answerByKey(key));
    if (found && found() !== false) event.preventDefault();
  }

  /* ---- Setting up ---- */

  items.forEach((_, place) => {
    const made = element("button", "", String(place + 1));
    made.type = "button";
    made.addEventListener("click", () => go(place));
    at("overview").append(made);
  });
  for (const ask of Object.keys(data.asks)) {
    at("definitions").append(element("dt", "", data.asks[ask].title), element("dd", "", data.asks[ask].definition));
  }
  document.addEventListener("keydown", pressed);
  at("form").addEventListener("submit", (event) => event.preventDefault());
  at("who").addEventListener("submit", (event) => {
    event.preventDefault();
    const rater = at("rater").value.trim();
    if (!rater) return;
    if (rater !== state.rater) recall(rater);
    begin(false);
  });
  at("start").addEventListener("cancel", (event) => { if (!state.rater) event.preventDefault(); });
  at("load").addEventListener("change", load);
  at("comment").addEventListener("input", () => { label().comment = at("comment").value; changed(); tell(); });
  at("back").addEventListener("click", () => go(state.place - 1));
  at("next").addEventListener("click", () => go(state.place + 1));
  at("save").addEventListener("click", save);
  at("person").addEventListener("click", ask);
  at("help").addEventListener("click", () => at("reading").showModal());
  at("understood").addEventListener("click", () => at("reading").close());
  at("close").addEventListener("click", () => at("zoom").close());
  at("smaller").addEventListener("click", () => resize(-1));
  at("larger").addEventListener("click", () => resize(1));
  addEventListener("beforeunload", (event) => { if (!state.saved && !state.kept) event.preventDefault(); });
  ask();
}());
