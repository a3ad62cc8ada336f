/** Elements from data: text is always text, never markup. */

const PROPERTIES = ["value", "checked", "disabled", "hidden", "selected", "required", "open", "max", "min"];

/**
 * An element with attributes and children. A function given for `onclick` and the like becomes a listener.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name @param {Record<string, any>} [attributes] @param {...(Node | string | null)} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null) continue;
    if (typeof value === "function") made.addEventListener(key.slice(2), value);
    else if (PROPERTIES.includes(key)) made[key] = value;
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false) made.setAttribute(key, String(value));
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** Show only these children. @param {Element} where */
export function fill(where, ...children) {
  where.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

let numbers = 0;

/** A name that no other element of the page has. */
export function freshId(name) {
  numbers += 1;
  return `${name}-${numbers}`;
}

/** A labelled control, with a hint that is read out with it. */
export function field(label, control, hint) {
  control.id ||= freshId("field");
  const parts = [element("label", { for: control.id }, label), control];
  if (hint) {
    const id = `${control.id}-hint`;
    control.setAttribute("aria-describedby", id);
    parts.push(element("p", { class: "hint", id }, hint));
  }
  return element("div", { class: "field" }, ...parts);
}

/** A choice from a list of [value, words]. */
export function select(choices, attributes = {}) {
  const options = choices.map(([value, words]) => element("option", { value }, words));
  return element("select", attributes, ...options);
}

/** A table with a caption; cells are texts or nodes, and the first cell of a row names it. */
export function table(caption, head, rows, attributes = {}) {
  const heads = head.map((text) => element("th", { scope: "col" }, text));
  const body = rows.map((cells) =>
    element("tr", {}, ...cells.map((cell, place) => element(place ? "td" : "th", place ? {} : { scope: "row" }, cell))),
  );
  // A table that is wider than the screen scrolls by itself, also from the keyboard.
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    element(
      "table",
      attributes,
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, ...heads)),
      element("tbody", {}, ...body),
    ),
  );
}

/** Say it to whoever listens instead of looking. */
export function announcer() {
  return element("p", { class: "unseen", role: "status", "aria-live": "polite" });
}

/** A sentence about what went wrong. */
export function alertLine() {
  return element("p", { class: "problem", role: "alert", hidden: true });
}

/** Show a sentence, or hide the line when there is none. @param {HTMLElement} line */
export function say(line, sentence) {
  line.textContent = sentence ?? "";
  line.hidden = !sentence;
}
