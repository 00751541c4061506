"use strict";
/* The labelling sheet: one item at a time, answered with keys or the mouse. Texts come from models and from files: they only
   ever become text nodes and values. */
(function () {
  const { data, items, state, wanted, complete } = sheet;
  const at = (id) => document.getElementById(id);
  let place = 0, marked = "edit_valid";
  const item = () => items[place];
  const label = () => state.labels[place];
  const images = () => item().images.map((number) => data.images[number]);

  function element(tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  /* ---- What is shown ---- */

  function showImages() {
    at("images").replaceChildren(...images().map((url, number, all) => {
      const made = element("button", "image"), image = element("img");
      made.type = "button";
      made.title = "Show large";
      image.alt = "";
      image.src = url;
      zoom.sharpen(image, false);
      made.append(element("span", "caption", zoom.caption(number, all.length)), image);
      made.addEventListener("click", () => zoom.open(all, number));
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
    if (last < 0) at("changes").append(element("li", "", "Nothing: both images should look the same."));
    at("changes").classList.toggle("one", last < 1);
  }

  function showTalk() {
    const said = label().edit_valid, talked = item().asks.length > 1;
    let instead = "";
    if (!said) instead = "Shown once you have said whether the edit is valid.";
    else if (said === "invalid") instead = "Not needed: the edit is invalid.";
    else if (!talked) instead = "The model was not asked about this image: nothing more to label.";
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
    for (const made of at("asks").children) made.disabled = !wanted(place).includes(made.dataset.ask);
    for (const input of at("asks").querySelectorAll("input")) input.checked = label()[input.name] === input.value;
    showTalk();
    tell();
  }

  function tell() {
    const done = items.filter((_, one) => complete(one)).length;
    at("bar").value = done;
    at("count").textContent = done + " of " + items.length + " labelled";
    at("person").textContent = state.rater;
    at("save").classList.toggle("attention", !state.saved);
    at("done").hidden = done < items.length;
    at("done").textContent = "All " + items.length + " items are labelled. " +
      (state.saved ? "Send the saved file to whom you have this page from." : "Save the file and send it to whom you have this page from.");
    Array.from(at("overview").children).forEach((button, one) => {
      button.classList.toggle("done", complete(one));
      button.setAttribute("aria-label", "Item " + (one + 1) + (complete(one) ? ", labelled" : ""));
      if (one === place) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    });
  }

  function show() {
    at("place").textContent = "Item " + (place + 1) + " of " + items.length;
    at("question").textContent = item().question;
    at("comment").value = label().comment;
    at("back").disabled = place === 0;
    at("next").disabled = place === items.length - 1;
    showChanges();
    showImages();
    showAsks();
    focusOn(item().asks.find((name) => !label()[name] && wanted(place).includes(name)) || "edit_valid");
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

  function keep() {
    sheet.keep();
    at("kept").textContent = state.kept ? "kept in this browser" : "this browser keeps nothing: save before you close";
  }

  function save() {
    sheet.save();
    tell();
  }

  function answerByKey(key) {
    const found = data.asks[marked].answers.find((one) => one[2] === key);
    if (!found || !wanted(place).includes(marked)) return false;
    answer(marked, found[0]);
    const asks = wanted(place), next = asks[asks.indexOf(marked) + 1];
    focusOn(marked);
    if (next) focusOn(next);
    else (at("next").disabled ? at("save") : at("next")).focus();
    return true;
  }

  function go(to) {
    if (to < 0 || to >= items.length) return;
    place = to;
    show();
  }

  function goToUnlabelled() {
    const order = items.map((_, step) => (place + 1 + step) % items.length);
    const found = order.find((one) => !complete(one));
    if (found !== undefined) go(found);
  }

  function begin(saved) {
    at("start").close();
    document.querySelector("main").hidden = false;
    state.saved = saved || sheet.content().labels.length === 0;
    keep();
    const first = items.findIndex((_, one) => !complete(one));
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
      sheet.takeText(text);
      begin(true);
    }).catch((error) => {
      at("fault").textContent = error.message;
      at("fault").hidden = false;
      at("load").value = "";
    });
  }

  /* ---- Keys ---- */

  const KEYS = {
    enter: () => go(place + 1), b: () => go(place - 1), u: goToUnlabelled, s: save,
    z: () => zoom.open(images(), item().images.length - 1), c: () => at("comment").focus(), "?": () => at("reading").showModal(),
    delete: () => answer(marked), backspace: () => answer(marked),
  };

  function pressed(event) {
    const target = event.target, key = event.key.toLowerCase();
    if (event.ctrlKey || event.metaKey || event.altKey || !state.rater) return;
    if (target === at("comment") && key === "escape") return focusOn(marked);
    if (!at("keys").checked || target.matches("textarea, input:not([type=radio])")) return;
    const onButton = target.matches("button") && (key === "enter" || key === " ");
    if (onButton || at("start").open || at("reading").open) return;
    const found = at("zoom").open ? zoom.keys[key] : KEYS[key] || (() => answerByKey(key));
    if (found && found() !== false) event.preventDefault();
  }

  /* ---- Setting up ---- */

  items.forEach((_, one) => {
    const made = element("button", "", String(one + 1));
    made.type = "button";
    made.addEventListener("click", () => go(one));
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
    if (rater !== state.rater) sheet.recall(rater);
    begin(false);
  });
  at("start").addEventListener("cancel", (event) => { if (!state.rater) event.preventDefault(); });
  at("load").addEventListener("change", load);
  at("comment").addEventListener("input", () => { label().comment = at("comment").value; changed(); tell(); });
  at("back").addEventListener("click", () => go(place - 1));
  at("next").addEventListener("click", () => go(place + 1));
  at("save").addEventListener("click", save);
  at("person").addEventListener("click", ask);
  at("help").addEventListener("click", () => at("reading").showModal());
  at("understood").addEventListener("click", () => at("reading").close());
  addEventListener("beforeunload", (event) => { if (!state.saved && !state.kept) event.preventDefault(); });
  ask();
}());
