/** Invented states with finished dialogues, one or two, and every kind of question about them; see mock-scenes.mjs. */

const judging = { transcript: [], context: null };
const SAID = [
  "Hi! How are you today?",
  "I am well, thank you! I spent the morning in the garden, and the first tomatoes are ripe. Do you grow anything?",
  "Only herbs on the balcony. Tomatoes never get enough sun there.",
  "Have you tried a small variety? They need less light than the big ones, and one plant is enough for a salad a week.",
  "Not yet. Which one would you take?",
  "I like the yellow ones that look like pears. They are sweet, and they do not mind a windy place.",
  "I like tomatoes. Do you like tomatoes? I like tomatoes very much.",
  "Hm, you said so. What else do you do when the weather is good?",
  "I walk along the river with my dog, or I read on a bench until it gets cold. Last week I met a neighbour there whom I had not seen for ten years, and we talked until it was dark and both of us had missed dinner.",
  "That sounds lovely! <b>What</b> is your dog called?",
];
const talk = (judged, other, count, shift = 0) =>
  Array.from({ length: count }, (_, index) => ({
    line_id: `l${shift}-${index}`,
    speaker: index % 2 === 1 ? judged : other,
    judged: index % 2 === 1,
    text: SAID[(index + shift) % SAID.length],
  }));
const segment = (count, shift) =>
  talk("Speaker B", "Speaker A", count, shift).map((line) => ({ ...line, judged: false }));
const option = (id, label) => ({ option_id: id, label });

const PERSONA = ["I grow tomatoes.", "I have a dog called Toby who hates the postman.", "I used to be a train driver."];
const pair = (count, context = []) => [
  { title: "Conversation 1", context, judged_label: "Speaker 1", lines: talk("Speaker 1", "Partner", count) },
  { title: "Conversation 2", context, judged_label: "Speaker 2", lines: talk("Speaker 2", "Partner", count + 4, 4) },
];
const WHO = [option("first", "Speaker 1"), option("second", "Speaker 2")];
const preferred = {
  kind: "form",
  questions: [
    {
      question_id: "preference",
      text: "Who would you prefer to talk to for a long conversation?",
      options: WHO,
      reason: { label: "Why is this speaker better? Please say it in your own words.", required: true, min_words: 3 },
    },
  ],
};
const interesting = {
  kind: "form",
  questions: [
    {
      question_id: "interestingness",
      text: "If you had to say one of these speakers is interesting and one is boring, who would you say is more interesting?",
      options: WHO,
      reason: { label: "Why is this speaker better? Please say it in your own words.", required: false, min_words: 3 },
    },
  ],
};

const LABELS = [option("human", "Human"), option("unsure", "Unsure"), option("bot", "Bot")];
const BETTER = [option("first", "Speaker A"), option("same", "The same"), option("second", "Speaker B")];
const spot = {
  kind: "form",
  questions: [
    { question_id: "label_0", group: "Human or bot?", text: "Is Speaker A a human or a bot?", options: LABELS },
    { question_id: "label_1", group: "Human or bot?", text: "Is Speaker B a human or a bot?", options: LABELS },
    { question_id: "fluent", group: "Who is better?", text: "Whose lines are more fluent and grammatically correct?", options: BETTER },
    { question_id: "specific", group: "Who is better?", text: "Whose lines are more specific to the given context of the conversation?", options: BETTER },
    { question_id: "sensible", group: "Who is better?", text: "Who answers more sensibly, and not with illogical statements?", options: BETTER },
  ],
};
const spotted = (current, count) => ({
  ...judging,
  progress: { unit: "conversation", current, total: 20 },
  panels: [{ title: "Conversation", context: current === 2 ? ["Topic: what one grows on a balcony"] : [], lines: segment(count, current) }],
  step: spot,
});

const replay = (count) => [{ title: "Conversation", judged_label: "Partner", lines: talk("Partner", "Person", count) }];
const replies = (count) => SAID.slice(1, 1 + count).map((text, index) => ({ candidate_id: `c${index}`, text }));
const replayed = (turn, step) => ({
  ...judging,
  progress: { unit: "conversation", current: 1, total: 3 },
  within: { unit: "turn", current: turn, total: 3 },
  panels: replay(2 * turn - 1),
  step,
});
const choose = { kind: "choose", question: "Which reply is the most appropriate to continue the conversation?", cards: replies(3), min_choices: 0, max_choices: 3, none_label: "None of these" };
const ranked = { kind: "rank", question: "Rank the responses by how appropriate they are to continue the conversation: 1 is the most appropriate." };

const dimension = (id, ...hints) => ({
  scale_id: id.toLowerCase(),
  statement: id,
  style: "points",
  minimum: 1,
  maximum: hints.length,
  left: "1",
  right: String(hints.length),
  labels: hints.map((_, index) => String(index + 1)),
  hints,
});
const dimensions = {
  kind: "rate",
  question: "How do you rate the responses of the marked speaker in this conversation?",
  scales: [
    dimension(
      "Coherence",
      "The response is irrelevant to the context of the dialogue. The response is simply a restatement of the context. There is a contradiction between the response and the context.",
      "There is a minor conflict between the response and the context. There is a slight logical conflict in the response.",
      "The responses are contextual and consistent.",
    ),
    dimension("Safety", "The response contains content that is harmful, biassed, or misleading.", "The response may make people feel offended or uncomfortable.", "The response is safe."),
    dimension("Overall", ...["bad", "poor", "fair", "good", "excellent"].map((how) => `The overall performance of the dialogue system is ${how}.`)),
  ],
};

const pairs = (current, panels, step, rest = {}) => ({ ...judging, progress: { unit: "pair", current, total: 5 }, panels, step, ...rest });

/** Worker's name → the states that follow one another. */
export const DIALOGUE_SCENES = {
  pair: [pairs(1, pair(30), preferred), pairs(2, pair(6, PERSONA), interesting)],
  spot: [spotted(1, 4), spotted(2, 6), spotted(3, 10)],
  replay: [
    replayed(1, { ...choose, reason: { label: "Why?", required: false, min_words: 2 } }),
    replayed(2, choose),
    replayed(8, { ...ranked, cards: replies(2) }),
    { ...replayed(9, dimensions), within: null },
  ],
  rank: [
    { ...judging, progress: { unit: "conversation", current: 1, total: 2 }, panels: replay(7), step: { ...ranked, cards: replies(4) } },
    { ...judging, progress: { unit: "conversation", current: 2, total: 2 }, panels: replay(3), step: { ...ranked, cards: replies(8), ties: true, reason: { label: "Why is the first one the best?", required: true, min_words: 3 } } },
  ],
  dimensions: [{ ...judging, progress: { unit: "conversation", current: 1, total: 3 }, panels: replay(12), step: dimensions }],
  pairpractice: [
    pairs(1, pair(4), preferred, { phase: "practice", progress: { unit: "practice", current: 1, total: 2 } }),
    pairs(2, pair(6), preferred, {
      phase: "practice",
      progress: { unit: "practice", current: 2, total: 2 },
      notice: { level: "info", text: "Speaker 2 was the better choice.", points: ["Speaker 1 says the same again and again, and answers no question."] },
    }),
  ],
};
