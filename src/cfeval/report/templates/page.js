"use strict";
/* What all parts of the page share. Texts come from models: they only ever become text nodes. */
const about = JSON.parse(document.getElementById("about").textContent);
const find = (selector, within = document) => within.querySelector(selector);
const SMALL = 160;

/* element("p.name", {attribute: value, onclick: handler}, child, …): a child is a node or a text. */
function element(tag, attributes, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  if (classes.length) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false && value !== undefined) made.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(2)) if (child !== null && child !== undefined && child !== false && child !== "") made.append(child);
  return made;
}

function icon(name) {
  const SVG = "http://www.w3.org/2000/svg";
  const made = document.createElementNS(SVG, "svg"), use = document.createElementNS(SVG, "use");
  made.setAttribute("class", "i i-" + name);
  made.setAttribute("aria-hidden", "true");
  use.setAttribute("href", "#" + name);
  made.append(use);
  return made;
}

/* The sign of how an item ends. */
function sign(ending) { return icon("o-" + (about.endings[ending][2] || ending)); }

/* An image by its number; a small one keeps its pixels sharp. */
function image(number, alt, name = "") {
  const made = element("img", { alt, class: name || null, decoding: "async", loading: "lazy" });
  made.addEventListener("load", () => sharpen(made));
  made.src = about.images[number];
  return made;
}

function sharpen(image) { image.classList.toggle("small", image.naturalWidth > 0 && image.naturalWidth <= SMALL); }

for (const image of document.querySelectorAll("main img")) {
  image.addEventListener("load", () => sharpen(image));
  sharpen(image);
}
