import type { Answer, Details } from "./entry";

/** All texts of an entry in small letters, to be searched in. */
export function searchable(id: string, details: Details): string {
  const texts: (string | undefined)[] = [id];
  const answered = (answer: Answer) =>
    texts.push(answer.by, answer.reason, answer.written, ...(answer.says ?? []).flat());
  for (const turn of details.turns ?? []) {
    texts.push(turn.human?.text);
    for (const reply of turn.replies) {
      texts.push(reply.text, reply.raw, reply.model, reply.thoughts, ...(reply.withdrawn ?? []));
    }
    turn.answers.forEach(answered);
  }
  for (const talk of details.talks ?? []) {
    texts.push(talk.id, ...talk.lines.map((line) => line.text));
  }
  details.answers?.forEach(answered);
  texts.push(...(details.questions ?? []), ...(details.about ?? []).flat(), ...(details.feedback ?? []).flat());
  texts.push(...(details.checks ?? []).map((check) => check.reason));
  return plain(texts.filter(Boolean).join("\n"));
}

/** What is looked for: words, and “phrases in quotation marks”; all must be there. */
export function wanted(query: string): string[] {
  return [...plain(query).matchAll(/"([^"]+)"|“([^”]+)”|(\S+)/g)]
    .map(([, phrase, other, word]) => (phrase ?? other ?? word ?? "").trim())
    .filter((word) => word !== "" && word !== '"');
}

export function plain(text: string): string {
  return text.normalize("NFC").toLowerCase();
}
