import "@testing-library/jest-dom/vitest";
import { cleanup } from "@testing-library/react";
import { afterEach, beforeEach, vi } from "vitest";

beforeEach(() => {
  window.sessionStorage.clear();
  // jsdom has no layout: the page's scrolling and media queries get the answers of a desktop at rest.
  window.scrollTo = vi.fn() as typeof window.scrollTo;
  window.matchMedia = (query: string) =>
    ({
      matches: query.includes("hover: hover"),
      media: query,
      addEventListener: vi.fn(),
      removeEventListener: vi.fn(),
    }) as unknown as MediaQueryList;
  window.ResizeObserver = class {
    observe = vi.fn();
    unobserve = vi.fn();
    disconnect = vi.fn();
  };
  Element.prototype.scrollIntoView = vi.fn();
  Element.prototype.checkVisibility = () => true;
  vi.stubGlobal("CSS", { supports: () => false, escape: (text: string) => text });
});

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});
