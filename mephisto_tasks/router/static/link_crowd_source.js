// Who the rater is, where they came by a link: the server makes that out of the address' parameters.
// Defines the four functions that every provider's wrap_crowd_source.js defines.
"use strict";

// Nobody's name: the page cannot say it, and the server would not believe it.
const BY_ADDRESS = "by-address";

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
    // Pairs, not an object: a name that stands twice must be seen.
    parameters: Array.from(new URLSearchParams(window.location.search)),
  };
}

// The last state says where to go; nothing has to be handed in anywhere else.
function handleSubmitToProvider() {
  return true;
}
