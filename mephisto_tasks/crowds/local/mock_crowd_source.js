// Who the rater is, when no crowd provider is there to say it: the address does.
// Defines the four functions that every provider's wrap_crowd_source.js defines.
"use strict";

function fromAddress(name) {
  return new URLSearchParams(window.location.search).get(name);
}

function getWorkerName() {
  return fromAddress("worker_id");
}

function getAssignmentId() {
  return fromAddress("assignment_id");
}

function getAgentRegistration() {
  return {
    worker_name: getWorkerName(),
    agent_registration_id: `${getAssignmentId()}-${getWorkerName()}`,
    assignment_id: getAssignmentId(),
    provider_type: "mock",
    // Of ids that the server made up; who typed them has none.
    ...(fromAddress("sig") === null ? {} : { signature: fromAddress("sig") }),
  };
}

// There is nobody to hand the finished task to.
function handleSubmitToProvider() {
  return true;
}
