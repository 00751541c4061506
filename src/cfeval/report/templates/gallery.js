"use strict";
/* The gallery: filters, search and pages over the cards in #data. Texts come from models: they only ever become text nodes. */
(function () {
  const PER_PAGE = 24, SMALL = 160;
  const data = JSON.parse(document.getElementById("data").textContent);
  const form = document.getElementById("filters");
  const place = document.getElementById("cards");
  const count = document.getElementById("count");
  const steps = Array.from(document.querySelectorAll("[data-step]"));
  const SEARCHED = ["id", "question", "answer", "explanation", "concept", "positive", "negative", "new_answer", "new_explanation", "reason"];
  const VERDICTS = {
    "1": "follows (CCS 1)", "0": "does not follow (CCS 0)",
    stood: "control: answer stood", moved: "control: answer moved", none: "no verdict",
  };
  const cards = data.cards.map(unpack);
  const selects = Array.from(form.querySelectorAll("select"));
  let page = 0;

  function unpack(row) {
    const card = {};
    data.fields.forEach((name, i) => { card[name] = i < data.numbers ? row[i] : data.texts[row[i]]; });
    Object.assign(card, data.conditions[card.condition]);
    card.verdict = verdictOf(card);
    card.scores = data.scores[card.protocol];
    return card;
  }

  function verdictOf(card) {
    if (card.answer_score === null) return "none";
    return card.ccs === null ? (card.answer_score ? "moved" : "stood") : String(card.ccs);
  }

  function element(tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function picture(link, description) {
    if (!link) return element("div", "noimage", "no image");
    const image = element("img");
    image.loading = "lazy";
    image.alt = description;
    sharpenWhenSmall(image);
    image.src = link;
    return image;
  }

  function sharpenWhenSmall(image) {
    const check = () => image.classList.toggle("small", image.naturalWidth > 0 && image.naturalWidth <= SMALL);
    image.addEventListener("load", check);
    check();
  }

  function side(link, description, answer, explanation) {
    const made = element("div");
    made.append(picture(link, description), element("p", "said", answer || "no answer"), element("p", "why", explanation));
    return made;
  }

  function change(card) {
    const made = element("p", "change", card.positive || "no edit was written");
    if (card.negative) made.append(element("span", "", card.negative));
    return made;
  }

  function verdict(card) {
    const made = element("div", "foot");
    if (card.answer_score === null) {
      made.append(element("span", "chip missing", card.status.replaceAll("_", " ")));
      made.append(element("span", "muted", [card.stage, card.reason].filter(Boolean).join(": ")));
      return made;
    }
    const chip = (kind, text) => made.append(element("span", "chip " + kind, text));
    const control = card.ccs === null;
    const score = (name, value) => chip(value ? "holds" : "fails", name + " " + value);
    const stood = (name, moved) => chip(moved ? "fails" : "holds", moved ? name : name.replace("moved", "stood"));
    if (!control) score("CCS", card.ccs);
    (control ? stood : score)(card.scores[0], card.answer_score);
    (control ? stood : score)(card.scores[1], card.explanation_score);
    if (card.ccs_graded !== null) chip("plain", "graded " + card.ccs_graded);
    if (card.verified === 0) made.append(element("span", "chip missing", "edit failed its check"));
    return made;
  }

  function drawn(card) {
    const made = element("article", "card");
    made.dataset.id = card.id;
    const pair = element("div", "pair");
    pair.append(side(card.original, "original image", card.answer, card.explanation));
    pair.append(side(card.edited, "edited image", card.new_answer, card.new_explanation));
    const names = [card.vlm, card.protocol, card.editor, card.judge, card.dataset, card.id].concat(card.edit > 1 ? ["edit " + card.edit] : []);
    made.append(element("h3", "", card.question), pair, change(card), verdict(card), element("p", "condition", names.join(" · ")));
    return made;
  }

  function fill(select) {
    const found = new Set(cards.map((card) => card[select.name]));
    const values = select.name === "verdict" ? Object.keys(VERDICTS).filter((v) => found.has(v)) : Array.from(found);
    const texts = select.name === "verdict" ? VERDICTS : {};
    select.append(new Option("all", ""));
    for (const value of values) if (value !== "") select.append(new Option(texts[value] || value.replaceAll("_", " "), value));
    select.closest("label").hidden = values.length < 2;
  }

  function matching() {
    const wanted = selects.filter((select) => select.value !== "");
    const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    return cards.filter((card) => {
      if (wanted.some((select) => card[select.name] !== select.value)) return false;
      if (!words.length) return true;
      const text = SEARCHED.map((name) => card[name]).join("\n").toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }

  function show() {
    const found = matching();
    const pages = Math.max(1, Math.ceil(found.length / PER_PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    place.replaceChildren(...found.slice(page * PER_PAGE, (page + 1) * PER_PAGE).map(drawn));
    count.textContent = found.length + " of " + cards.length + " items, page " + (page + 1) + " of " + pages;
    for (const button of steps) {
      const next = page + Number(button.dataset.step);
      button.disabled = next < 0 || next >= pages;
    }
  }

  /* The filters stand in the address, so that a selection can be linked to. */
  function remember() {
    const state = new URLSearchParams();
    for (const field of form.elements) if (field.name && field.value) state.set(field.name, field.value);
    if (page) state.set("page", String(page + 1));
    history.replaceState(null, "", "#" + state);
  }

  function recall() {
    const state = new URLSearchParams(location.hash.slice(1));
    for (const field of form.elements) if (field.name && state.has(field.name)) field.value = state.get(field.name);
    for (const select of selects) if (select.selectedIndex < 0) select.selectedIndex = 0;
    page = (Number.parseInt(state.get("page"), 10) || 1) - 1;
    return Array.from(form.elements).some((field) => field.name && state.has(field.name));
  }

  function changed() { page = 0; show(); remember(); }

  selects.forEach(fill);
  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(changed));
  for (const button of steps) {
    button.addEventListener("click", () => {
      page += Number(button.dataset.step);
      show();
      remember();
      document.getElementById("items").scrollIntoView();
    });
  }
  document.querySelectorAll("img").forEach(sharpenWhenSmall);
  const asked = recall();
  show();
  if (asked) document.getElementById("items").scrollIntoView();
}());
