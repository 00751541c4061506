"use strict";
/* The answers of one person: what is wanted, kept in the browser, saved as a file and taken from one. */
const sheet = (function () {
  const FORMAT = "cfeval-labels-1";
  const data = JSON.parse(document.getElementById("data").textContent);
  const items = data.items;
  const state = { rater: "", labels: blank(), saved: true, kept: false };

  function blank() {
    return items.map(() => ({ comment: "" }));
  }

  /* Which questions an answer is wanted to: an invalid edit has no scores. */
  function wanted(place) {
    return state.labels[place].edit_valid === "invalid" ? ["edit_valid"] : items[place].asks;
  }

  function complete(place) {
    return wanted(place).every((ask) => state.labels[place][ask]);
  }

  function content() {
    const labels = [];
    state.labels.forEach((said, place) => {
      const kept = { item: place + 1 };
      for (const ask of wanted(place)) if (said[ask]) kept[ask] = said[ask];
      if (said.comment.trim()) kept.comment = wellFormed(said.comment.trim());
      if (Object.keys(kept).length > 1) labels.push(kept);
    });
    return { format: FORMAT, sheet: data.sheet, rater: wellFormed(state.rater), labels: labels };
  }

  /* Half a character cannot be written as UTF-8. */
  function wellFormed(text) {
    return text.toWellFormed ? text.toWellFormed() : text;
  }

  /* Takes over what a file or the browser kept; throws what is wrong with it. */
  function take(found) {
    if (!found || found.format !== FORMAT || !Array.isArray(found.labels)) throw new Error("This is no file of saved labels.");
    if (found.sheet !== data.sheet) throw new Error("These are the labels of another sheet.");
    if (typeof found.rater !== "string" || !found.rater.trim()) throw new Error("The file does not say whose labels these are.");
    const labels = blank();
    for (const said of found.labels) {
      if (!said || !items[said.item - 1]) throw new Error("The file has labels of an item that is not on this sheet.");
      const mine = labels[said.item - 1];
      for (const ask of items[said.item - 1].asks) {
        if (data.asks[ask].answers.some(([word]) => word === said[ask])) mine[ask] = said[ask];
      }
      if (typeof said.comment === "string") mine.comment = said.comment;
    }
    state.labels = labels;
    state.rater = found.rater.trim();
  }

  function takeText(text) {
    let found;
    try {
      found = JSON.parse(text);
    } catch (error) {
      throw new Error("This is no file of saved labels.");
    }
    take(found);
  }

  const shelf = (rater) => "cfeval-labels:" + data.sheet + ":" + rater.toLowerCase();

  function keep() {
    try {
      localStorage.setItem(shelf(state.rater), JSON.stringify(content()));
      state.kept = true;
    } catch (error) {
      state.kept = false;
    }
  }

  /* Goes on with what the browser kept under a name, if it did. */
  function recall(rater) {
    state.labels = blank();
    try {
      take(JSON.parse(localStorage.getItem(shelf(rater))));
    } catch (error) {
      /* Nothing was kept under that name, or the browser keeps nothing. */
    }
    state.rater = rater;
  }

  function save() {
    const name = state.rater.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "rater";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(content(), null, 1) + "\n"], { type: "application/json" }));
    link.download = "labels-" + name + "-" + data.sheet.slice(0, 8) + ".json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    state.saved = true;
  }

  return { data, items, state, wanted, complete, content, takeText, keep, recall, save };
}());
