// Who the rater is, where they came by a link: the server makes that out of the address' parameters.
// Defines the four functions that every provider's wrap_crowd_source.js defines.
"use strict";

// Nobody's name: the page cannot say it, and the server would not believe it.
const BY_ADDRESS = "by-address";

// As the page was opened: it takes its visitor's name out of the visible address later.
// Pairs, not an object: a name that stands twice must be seen.
const PARAMETERS = Array.from(new URLSearchParams(window.location.search));

function getWorkerName() {
  return BY_ADDRESS;
}

function getAssignmentId() {
  return BY_ADDRESS;
}

function getAgentRegistration() {
  return {
    worker_name: BY_ADDRESS,
    agent_registration_id: BY_ADDRESS,
    assignment_id: BY_ADDRESS,
    provider_type: "link",
    parameters: PARAMETERS,
  };
}

// The last state says where to go; nothing has to be handed in anywhere else.
function handleSubmitToProvider() {
  return true;
}
