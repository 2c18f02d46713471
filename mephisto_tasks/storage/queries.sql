/* What is asked of Mephisto's database: each query stands below a line with its name. Units cleared after a disconnect have
   lost their agent, so queries start at agents. */

-- practices: of a task: all, or one worker's
  SELECT onboarding_agents.onboarding_agent_id, onboarding_agents.worker_id, onboarding_agents.task_run_id
    FROM onboarding_agents JOIN tasks ON tasks.task_id = onboarding_agents.task_id
   WHERE tasks.task_name = ?1 AND (?2 = '' OR onboarding_agents.worker_id = ?2)
ORDER BY onboarding_agents.onboarding_agent_id

-- parts: of workers in the units of a task: all, or one worker's
  SELECT agents.agent_id, agents.assignment_id, agents.unit_id, agents.worker_id, agents.task_run_id,
         workers.worker_name, agents.status, units.pay_amount, units.provider_type
    FROM agents
    JOIN tasks ON tasks.task_id = agents.task_id
    JOIN units ON units.unit_id = agents.unit_id
    JOIN workers ON workers.worker_id = agents.worker_id
   WHERE tasks.task_name = ?1 AND units.unit_index >= 0 AND (?2 = '' OR agents.worker_id = ?2)
ORDER BY CAST(agents.agent_id AS INTEGER)

-- runs: the launches of a task, the newest first
SELECT task_runs.task_run_id, task_runs.task_type, task_runs.provider_type, task_runs.init_params
  FROM task_runs JOIN tasks ON tasks.task_id = task_runs.task_id
 WHERE tasks.task_name = ? ORDER BY CAST(task_runs.task_run_id AS INTEGER) DESC

-- tasks
SELECT task_name FROM tasks ORDER BY task_id DESC

-- practised
  SELECT workers.worker_id, workers.worker_name, onboarding_agents.task_run_id, workers.provider_type
    FROM onboarding_agents
    JOIN tasks ON tasks.task_id = onboarding_agents.task_id
    JOIN workers ON workers.worker_id = onboarding_agents.worker_id
   WHERE tasks.task_name = ?
ORDER BY onboarding_agents.onboarding_agent_id

-- tasks_of_type
  SELECT DISTINCT tasks.task_name, task_runs.task_type
    FROM task_runs JOIN tasks ON tasks.task_id = task_runs.task_id
ORDER BY tasks.task_id

-- all_parts: but of screening and gold units, which have negative indices
  SELECT agents.agent_id, agents.assignment_id, agents.unit_id, agents.task_run_id, agents.status,
         workers.worker_name, tasks.task_name, task_runs.task_type, task_runs.init_params
    FROM agents
    JOIN task_runs ON task_runs.task_run_id = agents.task_run_id
    JOIN tasks ON tasks.task_id = task_runs.task_id
    JOIN units ON units.unit_id = agents.unit_id
    JOIN workers ON workers.worker_id = agents.worker_id
   WHERE units.unit_index >= 0
ORDER BY CAST(agents.agent_id AS INTEGER)

-- statuses
SELECT agents.agent_id, agents.status, units.unit_id, units.status
  FROM agents LEFT JOIN units ON units.agent_id = agents.agent_id

-- statuses_of_task: and who has the unit now
SELECT agents.agent_id, agents.status, units.unit_id, units.status, COALESCE(units.agent_id, agents.agent_id)
  FROM agents
  JOIN tasks ON tasks.task_id = agents.task_id
  JOIN units ON units.unit_id = agents.unit_id
 WHERE tasks.task_name = ?

-- providers
SELECT DISTINCT units.provider_type
  FROM agents JOIN units ON units.unit_id = agents.unit_id JOIN tasks ON tasks.task_id = agents.task_id
 WHERE tasks.task_name = ?

-- parts_of_worker
  SELECT agents.agent_id, agents.unit_id, tasks.task_name, agents.task_run_id, agents.assignment_id, agents.creation_date
    FROM agents JOIN tasks ON tasks.task_id = agents.task_id WHERE agents.worker_id = ?
ORDER BY CAST(agents.agent_id AS INTEGER)

-- practices_of_worker
SELECT onboarding_agents.onboarding_agent_id, tasks.task_name, onboarding_agents.task_run_id,
       onboarding_agents.creation_date
  FROM onboarding_agents JOIN tasks ON tasks.task_id = onboarding_agents.task_id
 WHERE onboarding_agents.worker_id = ? ORDER BY onboarding_agents.onboarding_agent_id

-- granted
SELECT qualification_name FROM qualifications JOIN granted_qualifications USING (qualification_id) WHERE worker_id = ?

-- cut_off: who was in the practice when a launch was killed; asked while none runs
SELECT DISTINCT onboarding_agents.worker_id
  FROM onboarding_agents JOIN tasks ON tasks.task_id = onboarding_agents.task_id
 WHERE tasks.task_name = ? AND onboarding_agents.status = 'onboarding'

-- holders: of a qualification, whatever its value: Mephisto's own rules go by whether a worker holds it at all
SELECT DISTINCT workers.worker_id, workers.worker_name
  FROM granted_qualifications AS granted
  JOIN qualifications ON qualifications.qualification_id = granted.qualification_id
  JOIN workers ON workers.worker_id = granted.worker_id
 WHERE qualifications.qualification_name = ?

-- roster: every worker, and whether they hold a qualification
  SELECT worker_id, worker_name, provider_type, creation_date,
         EXISTS (SELECT 1 FROM granted_qualifications AS granted
                   JOIN qualifications ON qualifications.qualification_id = granted.qualification_id
                  WHERE granted.worker_id = workers.worker_id AND qualifications.qualification_name = ?)
    FROM workers
ORDER BY worker_id

-- tries
SELECT (SELECT COUNT(*) FROM onboarding_agents JOIN tasks USING (task_id) JOIN workers USING (worker_id)
         WHERE task_name = ? AND worker_name = ? AND strftime('%s', onboarding_agents.creation_date) + 5 >= ?),
       (SELECT COUNT(*) FROM agents JOIN tasks USING (task_id) JOIN workers USING (worker_id)
         WHERE task_name = ? AND worker_name = ?)

-- qualifications
SELECT qualification_name FROM qualifications

-- workers
SELECT worker_id, worker_name FROM workers

-- returned
SELECT agent_id FROM agents WHERE status = 'returned'

-- launches
SELECT task_runs.provider_type, requester_name, task_run_id
  FROM task_runs JOIN tasks USING (task_id) JOIN requesters USING (requester_id)
 WHERE task_name = ?
 ORDER BY CAST(task_run_id AS INTEGER)
