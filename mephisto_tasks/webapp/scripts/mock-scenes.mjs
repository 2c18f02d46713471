/** Invented states that show every kind of step; `npm run dev:mock`, then `?worker_id=rate&assignment_id=1` and so on. */
import { QUESTION } from "./mock-content.mjs";
import { DIALOGUE_SCENES } from "./mock-dialogues.mjs";

const LONG =
  "Hi. I like dogs. Do you like dogs? I have two of them, and they are the best company one can have on a rainy afternoon, because they never mind the weather and always want to go out, whatever I think about it.";
const TEXTS = [
  "That sounds like slow, patient work. What kind of boat is it?",
  LONG,
  "Boats are nice.",
  "What a day! <b>Tell</b> me more about your sister, please: does she drive at night too?",
  "Hm.",
  "I am sorry to hear that. Have you thought of taking lessons?",
  "I could not do that either. What made you start in the first place?",
  "My favourite colour is blue, like the sea on a calm morning.",
];
const cards = (count) => TEXTS.slice(0, count).map((text, index) => ({ candidate_id: `c${index}`, text }));
const option = (label) => ({ option_id: label.toLowerCase().replace(/\W+/g, "-"), label });

const talk = [
  { entry_id: "s1", speaker: "you", text: "Hi! I restore old wooden boats. And you?" },
  { entry_id: "s2", speaker: "partner", text: TEXTS[0], note: "You wrote this reply." },
  { entry_id: "s3", speaker: "you", text: "A small rowing boat, about sixty years old." },
];

const choose = (count, rest = {}) => ({
  kind: "choose",
  question: QUESTION,
  cards: cards(count),
  min_choices: 0,
  max_choices: count,
  none_label: count === 1 ? "No, it is not" : "None of these",
  ...rest,
});

const slider = (id, statement) => ({ scale_id: id, statement, style: "slider", minimum: 0, maximum: 100, left: "Strongly disagree", right: "Strongly agree" });
const sliders = [
  "The chatbot was interesting to talk with.",
  "The chatbot's replies made sense in the conversation as it had gone until then.",
  "I enjoyed the conversation.",
  "The chatbot kept to the topic.",
  "The chatbot repeated itself.",
  "The chatbot's words were natural.",
  "The chatbot seemed to be the same person all the time.",
].map((statement, index) => slider(`s${index}`, statement));
const points = (id, statement, rest = {}) => ({ scale_id: id, statement, style: "points", minimum: 1, maximum: 5, left: "Not at all", right: "Very much", ...rest });

const inConversation = {
  progress: { unit: "conversation", current: 2, total: 6 },
  within: { unit: "turn", current: 3, total: null, minimum: 10 },
  topic: "Whether one should let an old boat rot in peace or spend every free weekend of the year on mending it",
};
const verdicts = ["A is better", "B is better", "Tie", "Both are bad"];
const suggestions = [
  "What did you do last weekend?",
  "Do you like to cook?",
  "Which book would you take to an island, and why that one and no other?",
  "Have you ever been abroad?",
  "What music do you listen to?",
];
const end = (text) => ({ action_id: "end", label: "End the conversation", confirm: text });

/** Worker's name → the states that follow one another. */
export const SCENES = {
  ...DIALOGUE_SCENES,
  choose1: [{ step: choose(1) }],
  choose3: [{ step: choose(3, { min_choices: 1, max_choices: 1 }) }],
  choose4: [{ step: choose(4, { reason: { label: "Why did you choose this?", required: true, min_words: 3 } }) }],
  choose5: [{ step: choose(5) }],
  choose8: [{ step: choose(8) }],
  tick: [
    {
      step: {
        kind: "tick",
        question: "Which of these is true of the reply?",
        reply: { candidate_id: "r", text: TEXTS[5] },
        options: ["Engaging", "Human-like", "Interesting"].map(option),
        min_choices: 0,
        max_choices: 3,
        none_label: "None of these",
        reason: { label: "Why?", required: false, min_words: 2 },
      },
    },
  ],
  tickone: [
    {
      step: {
        kind: "tick",
        question: "Is the reply appropriate?",
        reply: { candidate_id: "r", text: LONG },
        options: ["Yes", "No"].map(option),
        min_choices: 1,
        max_choices: 1,
      },
    },
  ],
  rate: [{ ...inConversation, transcript: [], step: { kind: "rate", question: "How was this conversation?", scales: sliders } }],
  likert: [
    {
      step: {
        kind: "rate",
        question: "How was your partner?",
        scales: [
          points("p1", "How engaging was your partner?"),
          points("p2", "How human did your partner sound?", { labels: ["Not at all", "A little", "Somewhat", "Mostly", "Entirely"] }),
          points("p3", "How likely would you recommend it?", { minimum: 0, maximum: 10 }),
          sliders[0],
        ],
      },
    },
  ],
  topic: [
    {
      progress: { unit: "conversation", current: 2, total: 6 },
      transcript: [],
      step: {
        kind: "topic",
        label: "What would you like to talk about?",
        opinion_label: "What do you think of it?",
        opinions: ["I like it", "I am ambivalent", "I dislike it"].map(option),
      },
    },
  ],
  topicbare: [{ transcript: [], step: { kind: "topic", label: "What would you like to talk about?", opinion_label: "", opinions: [] } }],
  write: [{ step: { kind: "write", label: "Write a better reply in your partner's place", cards: cards(4), min_words: 3, max_chars: 400 } }],
  actions: [
    {
      ...inConversation,
      step: {
        kind: "message",
        label: "Write your next message",
        suggestions,
        actions: [
          { action_id: "topic", label: "Change the topic", text_label: "What do you talk about now?" },
          { ...end("You cannot come back to it."), enabled: false, hint: "after 7 more messages" },
        ],
      },
    },
    {
      ...inConversation,
      topic: "Dogs",
      step: {
        kind: "message",
        label: "Write your next message",
        actions: [end("You cannot come back to this conversation. The questions about it come next.")],
      },
    },
  ],
  arena: [
    {
      progress: { unit: "turn", current: 2, total: null },
      columns: ["Partner A", "Partner B"],
      transcript: [
        { entry_id: "a1", speaker: "you", text: "Hi! I restore old wooden boats. And you?" },
        { entry_id: "a2", speaker: "partner", column: 0, text: TEXTS[0] },
        { entry_id: "a3", speaker: "partner", column: 1, text: LONG },
        { entry_id: "a4", speaker: "you", text: "A small rowing boat." },
        { entry_id: "a5", speaker: "partner", column: 1, text: TEXTS[6] },
        { entry_id: "a6", speaker: "partner", column: 0, text: TEXTS[2], note: "The last reply of this partner." },
      ],
      step: {
        kind: "message",
        label: "Write to both",
        actions: verdicts.map((label, index) => ({ action_id: `v${index}`, label, group: "Which partner is better?" })),
      },
    },
  ],
  broken: [{ step: { kind: "rate", question: "?", scales: [slider("x", "?")].map((one) => ({ ...one, maximum: 0 })) } }],
};

/** The states with what they leave out, and a name for each step. */
export function scene(worker) {
  const name = worker.replace(/-.*/, "");
  if (!Object.hasOwn(SCENES, name)) {
    return null;
  }
  return SCENES[name].map((state, index) => ({ transcript: talk, ...state, step: { step_id: `${name}-${index}`, ...state.step } }));
}
