import { defineErrors, RPC } from '../../src/plugin.ts'

export const ERRORS = {
  GW_AGENT_COMMAND: {
    text: '{where}: "{command}" cannot be run: {why}',
    hint: 'Name an installed program by its path, or by a name on the PATH of the agent; where agents.commands is set, a glob there must match its real path.',
    exit: 3,
    rpc: RPC.internal,
  },
  GW_AGENT_UNKNOWN: {
    text: 'there is no agent "{agent}"{meant}',
    hint: 'agents.list says which there are; gateway agents list shows them.',
    exit: 2,
    http: 404,
    rpc: RPC.invalidParams,
  },
  GW_AGENT_NONE_FITS: {
    text: 'no agent can take this task: {why}',
    hint: 'Ask for fewer capabilities, or come back later; the decision says for each agent why not.',
    http: 503,
    rpc: RPC.internal,
  },
  GW_AGENT_QUEUE_FULL: {
    text: 'agent "{agent}" has no place for this task: {why}',
    hint: 'Come back after retryAfterMs; agents.defaults.limits.queue says how many may wait.',
    http: 429,
    rpc: RPC.internal,
  },
  GW_AGENT_TASKS_FULL: {
    text: 'no more tasks are taken: {why}',
    hint: 'Let some end, or cancel them; agents.tasks sets the bounds.',
    http: 429,
    rpc: RPC.internal,
  },
  GW_AGENT_TASK_UNKNOWN: {
    text: 'there is no task "{task}"',
    hint: 'Tasks are kept for agents.tasks.ttl after their end, and only whoever began one sees it.',
    http: 404,
    rpc: RPC.invalidParams,
  },
  GW_AGENT_TASK_BUSY: {
    text: 'task "{task}" cannot be gone on with: {why}',
    hint: 'Wait for its end, or begin a task of its own.',
    http: 409,
    rpc: RPC.invalidParams,
  },
  GW_AGENT_KEY_USED: {
    text: 'this idempotency key stands for task "{task}", which was asked for something else',
    hint: 'Send the same request again, or another key.',
    http: 409,
    rpc: RPC.invalidParams,
  },
  GW_AGENT_QUESTION: {
    text: 'the question "{question}" of task "{task}" cannot be answered so: {why}',
    hint: 'The status of the task has its open questions, each with the schema of its answer.',
    http: 409,
    rpc: RPC.invalidParams,
  },
  GW_AGENT_BUDGET: {
    text: 'this task may not delegate any further: {why}',
    hint: 'callback.maxDepth and callback.maxTasks of the agent set the bounds.',
    http: 403,
    rpc: RPC.invalidParams,
  },
  GW_AGENT_PATH: {
    text: '{what} "{path}" {why}',
    hint: 'agents.roots says where tasks may work; name an ordinary file or a directory below it.',
    exit: 2,
    http: 400,
    rpc: RPC.invalidParams,
  },
  GW_AGENT_WORKTREE: {
    text: 'no worktree for "{directory}": {why}',
    hint: 'isolation: worktree needs git, and a directory in a repository with a commit; isolation: none works in place.',
    exit: 4,
    http: 400,
    rpc: RPC.invalidParams,
  },
} as const

export const agentError = defineErrors(ERRORS)
