// Who the rater is, on MTurk and in its sandbox: the address in MTurk's frame says it.
// Defines the four functions that every provider's wrap_crowd_source.js defines. Mephisto's own script for MTurk uses
// variables that it does not define.
"use strict";

function fromAddress(name) {
  return new URLSearchParams(window.location.search).get(name);
}

function getWorkerName() {
  return fromAddress("workerId");
}

// Nothing while a worker only looks.
function getAssignmentId() {
  const id = fromAddress("assignmentId");
  return id === "ASSIGNMENT_ID_NOT_AVAILABLE" ? null : id;
}

function getAgentRegistration() {
  return {
    worker_name: getWorkerName(),
    agent_registration_id: `${getAssignmentId()}-${getWorkerName()}`,
    assignment_id: getAssignmentId(),
    hit_id: fromAddress("hitId"),
    provider_type: "mturk",
  };
}

// MTurk takes a finished HIT by a form that its own page waits for; it wants a field beside the assignment's id. The
// page's policy lets forms go to MTurk's sites only, whatever the address says.
function handleSubmitToProvider(data) {
  const form = document.createElement("form");
  form.method = "POST";
  form.action = `${(fromAddress("turkSubmitTo") || "https://www.mturk.com").replace(/\/+$/, "")}/mturk/externalSubmit`;
  const fields = { ...data, assignmentId: getAssignmentId(), workerId: getWorkerName() };
  for (const [name, value] of Object.entries(fields)) {
    const input = document.createElement("input");
    Object.assign(input, { type: "hidden", name, value });
    form.appendChild(input);
  }
  document.body.appendChild(form);
  HTMLFormElement.prototype.submit.call(form);
}
