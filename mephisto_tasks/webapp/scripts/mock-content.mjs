/** Invented words for looking at the page while developing. */

export const config = {
  title: "Chat with two partners and pick the better reply",
  tagline: "Have a short conversation. At each turn two replies appear: choose the better one and say why.",
  preview: {
    sections: [
      {
        heading: "What you will do",
        lines: [
          "Practise on four short examples (about 3 minutes).",
          "Chat for six turns, playing a character that we give you (about 8 minutes).",
          "At each turn, choose one of two replies and give your reason in a few words.",
        ],
      },
      { heading: "Who can take part", lines: ["Adults who read and write English with ease."] },
    ],
  },
  instructions: {
    sections: [
      { heading: "Your character", lines: ["Speak as the character on the card. You need not use every sentence of it."] },
      {
        heading: "Choosing a reply",
        lines: [
          "Read both replies before you choose.",
          "Choose by the question above the replies, and by nothing else.",
          "The reply that you choose becomes your partner's message, and the conversation goes on from there.",
        ],
      },
      { heading: "Please do not", lines: ["Do not share anything private.", "Do not ask your partner whether it is a computer."] },
    ],
  },
  consent: "By starting you agree that your messages and choices are stored without your name and used for research.",
  pay: "You are paid in full when you finish, and also when the task breaks through no fault of yours.",
  start_label: "Start the practice",
  entry: "start",
};

export const context = {
  title: "Your character",
  lines: ["I restore old wooden boats.", "My sister is a train driver.", "I never learned to swim."],
};

export const practice = [
  { said: "I just adopted a puppy!", better: "Congratulations! What kind of puppy is it?", worse: "The bank closes at five on weekdays." },
  { said: "I am nervous about my exam.", better: "That is understandable. Which part worries you most?", worse: "Exam exam exam exam." },
];

export const replies = [
  [
    "Hello! How is your day going so far? I have just come back from a long walk by the river.",
    "Hi. I like dogs. Do you like dogs? I have two of them, and they are the best company one can have on a rainy afternoon, because they never mind the weather and always want to go out, whatever I think about it.",
  ],
  ["That sounds like slow, patient work. What kind of boat is it?", "Boats are nice."],
  ["I could not do that either! <b>What</b> made you start?", "I am sorry to hear that. Have you thought of taking lessons?"],
];

export const QUESTION = "Which reply would you rather get if you had to go on talking with this partner?";
