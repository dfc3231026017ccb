import { RPC } from './protocol/rpc-error.ts'

/** Rows of the error table that are about agents. */
export const AGENT_ERRORS = {
  GW_AGENT_COMMAND: {
    text: '{where}: "{command}" cannot be run: {why}',
    hint: 'Name an installed program by its path, or by a name on the PATH of the agent; where agents.commands is set, a glob there must match its real path.',
    exit: 3,
    rpc: RPC.internal,
  },
  GW_AGENT_REGISTRY: {
    text: 'cannot read the agents of {file}: {why}',
    hint: 'agents.registry.file is a file in the format of the ACP registry; agents.registry.use names agents that are in it.',
    exit: 3,
  },
} as const
