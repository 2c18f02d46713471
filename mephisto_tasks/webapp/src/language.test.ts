import { afterEach, describe, expect, it } from "vitest";
import { best, speak, t, tn, turnTo } from "./language";

afterEach(() => speak());

describe("the page's language", () => {
  it("is the first that is offered of those that somebody reads, or the study's own", () => {
    expect(best(["en", "zh"], ["de", "zh-TW", "en"])).toBe("zh");
    expect(best(["en", "pt", "pt-BR"], ["pt-BR"])).toBe("pt-BR");
    expect(best(["zh"], ["en"])).toBe("zh");
    expect(best([], ["en"])).toBeUndefined();
  });

  it("is told to browser and screen reader, with the side on which it begins", () => {
    turnTo({ tag: "ar", direction: "rtl", catalogue: {} });
    expect([document.documentElement.lang, document.documentElement.dir]).toEqual(["ar", "rtl"]);
    turnTo({ tag: "en", direction: "ltr", catalogue: {} });
  });
});

describe("the page's words", () => {
  it("are English where no catalogue says otherwise, with values in their places", () => {
    expect(t("Turn {current} of {total}", { current: 2, total: 6 })).toBe("Turn 2 of 6");
    expect([0, 1, 2].map((n) => tn("{n} word", "{n} words", n))).toEqual(["0 words", "1 word", "2 words"]);
  });

  it("come from the catalogue, in the plural form that its language wants", () => {
    speak({
      "": { plural_forms: "nplurals=3; plural=(n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 ? 1 : 2);" },
      Continue: ["Дальше"],
      "{n} word": ["{n} слово", "{n} слова", "{n} слов"],
    });
    expect(t("Continue")).toBe("Дальше");
    expect([1, 2, 5].map((n) => tn("{n} word", "{n} words", n))).toEqual(["1 слово", "2 слова", "5 слов"]);
    expect(t("Not translated")).toBe("Not translated");
  });

  it("are not turned by what is put into them, where either runs from right to left", () => {
    speak({ "You wrote: {text}": ["כתבת: {text}"], "{n} word": ["{n} מילה"] });
    expect(t("You wrote: {text}", { text: "Why?" })).toBe("כתבת: \u2068Why?\u2069");
    expect(tn("{n} word", "{n} words", 1)).toBe("1 מילה");
    speak();
    expect(t("You wrote: {text}", { text: "למה?" })).toBe("You wrote: \u2068למה?\u2069");
  });

  it("hold text of others as it is, also where it looks like a place", () => {
    expect(t("You wrote: {text}", { text: "{name} $& <b>" })).toBe("You wrote: {name} $& <b>");
  });
});
