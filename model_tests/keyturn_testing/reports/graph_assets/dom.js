// Elements: everything that is shown is made here, and every text is a text.

const byId = (id) => document.getElementById(id);

function made(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(name, value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined && child !== "") element.append(child);
  return element;
}

const el = (tag, attributes = {}, ...children) => made(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
  made(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const button = (attributes, ...children) => el("button", { type: "button", ...attributes }, ...children);

/** Put these in the place of everything that an element holds. */
const fill = (id, ...children) => byId(id).replaceChildren(...children.flat().filter((each) => each !== null && each !== ""));

function showNotice(id, text) {
  byId(id).hidden = !text;
  if (byId(id).textContent !== text) byId(id).textContent = text;
}
