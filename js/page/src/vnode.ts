// What the page draws, as plain values. Texts become text nodes and attribute values, never markup: a hostile name
// stays a name. `toText` writes the same values as a file of their own, for pictures.
export type Child = VNode | string | number | null | undefined | false;
export type Attributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface VNode {
  readonly tag: string;
  readonly attributes: Attributes;
  readonly children: readonly Child[];
  readonly on?: Readonly<Record<string, (event: Event) => void>>;
}

export function h(tag: string, attributes: Attributes = {}, ...children: readonly (Child | readonly Child[])[]): VNode {
  return { tag, attributes, children: children.flat() as Child[] };
}

/** Adds listeners, which only the page has. */
export function on(node: VNode, listeners: NonNullable<VNode["on"]>): VNode {
  return { ...node, on: listeners };
}

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "rect", "text", "title", "line", "path", "circle", "desc", "tspan"]);

// Marks that turn the direction of text or hide in it. They are shown by their number, as the command shows them.
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** A text of a file as a person may see it. */
export function shown(text: string): string {
  return text.replace(INVISIBLE, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function isDrawn(child: Child): child is VNode | string | number {
  return child !== null && child !== undefined && child !== false;
}

export function toDom(node: VNode, inSvg = false): Element {
  const svg = inSvg || node.tag === "svg";
  const element =
    svg && SVG_TAGS.has(node.tag) ? document.createElementNS(SVG, node.tag) : document.createElement(node.tag);
  for (const [name, value] of Object.entries(node.attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("--")) {
      // The policy of the page allows no style attribute; this is the way that it does allow.
      (element as HTMLElement).style.setProperty(name, String(value));
    } else {
      element.setAttribute(name, value === true ? "" : shown(String(value)));
    }
  }
  for (const child of node.children) {
    if (!isDrawn(child)) continue;
    element.append(typeof child === "object" ? toDom(child, svg) : shown(String(child)));
  }
  for (const [event, listener] of Object.entries(node.on ?? {})) element.addEventListener(event, listener);
  return element;
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string): string => shown(text).replace(/[&<>"]/g, (sign) => ENTITIES[sign] as string);

/** Writes a picture as a file. `colour` gives the value of a variable of the style. */
export function toText(node: VNode, colour: (variable: string) => string): string {
  const attributes = Object.entries(node.attributes)
    .filter(([name, value]) => value !== null && value !== undefined && value !== false && !name.startsWith("--"))
    .map(([name, value]) => {
      const text = String(value).replace(/var\((--[a-z-]+)\)/g, (_, variable: string) => colour(variable));
      return ` ${name}="${escaped(text)}"`;
    });
  if (node.tag === "svg") attributes.unshift(` xmlns="${SVG}"`);
  const children = node.children
    .filter(isDrawn)
    .map((child) => (typeof child === "object" ? toText(child, colour) : escaped(String(child))));
  return `<${node.tag}${attributes.join("")}>${children.join("")}</${node.tag}>`;
}
