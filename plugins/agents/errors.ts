import { defineErrors, RPC } from '../../src/plugin.ts'

export const ERRORS = {
  GW_AGENT_COMMAND: {
    text: '{where}: cannot run "{command}": {why}',
    hint: 'Specify the path of an installed program, or a name on the PATH of the agent; if agents.commands is set, a glob there must match the real path.',
    exit: 3,
    rpc: RPC.internal,
  },
  GW_AGENT_UNKNOWN: {
    text: 'unknown agent "{agent}"{meant}',
    hint: 'List the agents with agents.list or gateway agents list.',
    http: 404,
    rpc: RPC.invalidParams,
  },
  GW_AGENT_NONE_FITS: {
    text: 'no agent available: {why}',
    hint: 'Request fewer capabilities, or retry later; the routing decision contains the reason for each agent.',
    http: 503,
    rpc: RPC.internal,
  },
  GW_AGENT_QUEUE_FULL: {
    text: 'agent "{agent}" is overloaded: {why}',
    hint: 'Retry after retryAfterMs; agents.defaults.limits.queue sets the queue size.',
    http: 429,
    rpc: RPC.internal,
  },
  GW_AGENT_TASKS_FULL: {
    text: 'task limit exceeded: {why}',
    hint: 'Wait for tasks to finish, or cancel some; agents.tasks sets the limits.',
    http: 429,
    rpc: RPC.internal,
  },
  GW_AGENT_TASK_UNKNOWN: {
    text: 'unknown task "{task}"',
    hint: 'Finished tasks are deleted after agents.tasks.ttl, and only their owner can see them.',
    http: 404,
    rpc: RPC.invalidParams,
  },
  GW_AGENT_TASK_BUSY: {
    text: 'cannot continue task "{task}": {why}',
    hint: 'Wait until it finishes, or start a new task.',
    exit: 10,
    http: 409,
    rpc: RPC.invalidParams,
  },
  GW_AGENT_QUESTION: {
    text: 'cannot answer question "{question}" of task "{task}": {why}',
    hint: 'The task status contains the open questions with the schema of each answer.',
    http: 409,
    rpc: RPC.invalidParams,
  },
  GW_AGENT_BUDGET: {
    text: 'cannot delegate further: {why}',
    hint: 'callback.maxDepth and callback.maxTasks of the agent set the limits.',
    http: 403,
    rpc: RPC.invalidParams,
  },
  GW_AGENT_PATH: {
    text: '{what} "{path}" {why}',
    hint: 'Tasks can only use paths under agents.roots; specify a regular file or directory there.',
    http: 400,
    rpc: RPC.invalidParams,
  },
  GW_AGENT_WORKTREE: {
    text: 'cannot create a worktree for "{directory}": {why}',
    hint: 'isolation: worktree requires git and a directory in a repository with a commit; isolation: none works in place.',
    exit: 4,
    http: 400,
    rpc: RPC.invalidParams,
  },
} as const

export const agentError = defineErrors(ERRORS)
