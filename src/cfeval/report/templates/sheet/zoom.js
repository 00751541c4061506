"use strict";
/* Large images, one in the place of the other. */
const zoom = (function () {
  const SMALL = 160, SCALES = [1, 2, 4, 8];
  const at = (id) => document.getElementById(id);
  const view = { images: [], number: 0, scale: 0 };

  /* What an image is called, by its place among those of an item. */
  function caption(number, of) {
    if (number === 0) return "Original";
    return of > 2 ? "After change " + number : "Edited";
  }

  /* Pixels stay pixels where the image is small or enlarged. */
  function sharpen(image, always) {
    image.decode().catch(() => undefined).then(() => image.classList.toggle("sharp", always || image.naturalWidth <= SMALL));
  }

  function tab(number) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = caption(number, view.images.length);
    made.addEventListener("click", () => { choose(number); at("stage").focus(); });
    return made;
  }

  function open(images, number) {
    view.images = images;
    view.scale = 0;
    at("tabs").replaceChildren(...images.map((_, one) => tab(one)));
    at("zoom").showModal();
    at("stage").focus();
    choose(number);
  }

  function choose(number) {
    view.number = number;
    show();
  }

  function show() {
    const large = at("large");
    large.src = view.images[view.number];
    large.style.width = large.style.height = 100 * SCALES[view.scale] + "%";
    sharpen(large, view.scale > 0);
    at("shown").textContent = caption(view.number, view.images.length);
    at("scale").textContent = view.scale ? SCALES[view.scale] + " ×" : "fit";
    at("smaller").disabled = view.scale === 0;
    at("larger").disabled = view.scale === SCALES.length - 1;
    Array.from(at("tabs").children).forEach((button, one) => button.setAttribute("aria-pressed", String(one === view.number)));
  }

  /* The middle of what is seen stays in the middle. */
  function resize(step) {
    const stage = at("stage"), before = SCALES[view.scale];
    const middle = [(stage.scrollLeft + stage.clientWidth / 2) / before, (stage.scrollTop + stage.clientHeight / 2) / before];
    view.scale = Math.min(Math.max(view.scale + step, 0), SCALES.length - 1);
    show();
    stage.scrollLeft = middle[0] * SCALES[view.scale] - stage.clientWidth / 2;
    stage.scrollTop = middle[1] * SCALES[view.scale] - stage.clientHeight / 2;
  }

  const flip = () => choose((view.number + 1) % view.images.length);
  const close = () => at("zoom").close();
  const keys = { f: flip, " ": flip, z: close, "+": () => resize(1), "=": () => resize(1), "-": () => resize(-1) };
  at("close").addEventListener("click", close);
  at("smaller").addEventListener("click", () => resize(-1));
  at("larger").addEventListener("click", () => resize(1));

  return { open, caption, sharpen, keys };
}());
