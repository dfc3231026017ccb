import {
  type Ask,
  type AskReply,
  type ClientSide,
  lacking,
  neutralCapabilities,
  oneLine,
} from '../../src/plugin.ts'
import { summarizeArguments } from './arguments-text.ts'
import type { Decision, OpenCall } from './waiting-calls.ts'

const SCHEMA = {
  type: 'object',
  properties: {
    approve: { type: 'boolean', title: 'Run it', description: 'True lets this call run, once.' },
  },
  required: ['approve'],
}

/** Tells whether a client can be shown a form. */
export function showsForms(client: ClientSide): boolean {
  return lacking(neutralCapabilities(client), 'elicitation/create', { mode: 'form' }) === undefined
}

/** The form for a call: the words are ours, and what the caller sent is shown as data. */
export function formFor(open: OpenCall, onTakeBack: Ask['onTakeBack']): Ask {
  const { name, rule } = open.request
  const message = `May "${oneLine(name)}" run? The rule "${oneLine(rule)}" wants a person to decide. Arguments: ${summarizeArguments(open.request)}`
  return {
    method: 'elicitation/create',
    params: { mode: 'form', message, requestedSchema: SCHEMA },
    ...(onTakeBack === undefined ? {} : { onTakeBack }),
  }
}

/** Decision in a reply; undefined where the client could not be asked. */
export function decisionIn(reply: AskReply): Decision | undefined {
  if ('error' in reply) return undefined
  const { action, content } = reply.result
  const isApproved =
    action === 'accept' &&
    typeof content === 'object' &&
    content !== null &&
    (content as { approve?: unknown }).approve === true
  return { outcome: isApproved ? 'approved' : 'denied', by: 'client' }
}
