import { errorsOf, RPC } from '../../src/plugin.ts'

/** Errors of overridden tools. */
export const ERRORS = {
  GW_ARGUMENT_UNKNOWN: {
    text: 'Unknown argument "{argument}" of tool {tool}',
    hint: 'tools.override hides, fixes or renames it; tools/list has those that there are.',
    http: 400,
    rpc: RPC.invalidParams,
  },
  GW_ARGUMENT_INEXACT: {
    text: 'Argument "{argument}" of tool {tool} has a number that cannot be passed on exactly',
    hint: 'tools.override renames it; send the number as text, or one of at most 15 digits.',
    http: 400,
    rpc: RPC.invalidParams,
  },
} as const

export const filterError = errorsOf(ERRORS)
