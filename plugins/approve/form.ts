import {
  type Ask,
  type AskReply,
  type ApprovalRequest,
  type ClientSide,
  lacking,
  neutralCapabilities,
  oneLine,
} from '../../src/plugin.ts'
import type { Decision, OpenCall } from './waiting-calls.ts'

/** Longer arguments are cut: nobody reads them in a form. */
const MAX_SHOWN = 2000

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
  const message = `May "${oneLine(name)}" run? The rule "${oneLine(rule)}" wants a person to decide. Arguments: ${argumentsText(open.request)}`
  return {
    method: 'elicitation/create',
    params: { mode: 'form', message, requestedSchema: SCHEMA },
    ...(onTakeBack === undefined ? {} : { onTakeBack }),
  }
}

/** The arguments on one line, without anything that steers a terminal. */
export function argumentsText({ call }: ApprovalRequest): string {
  const text = oneLine(JSON.stringify(call.params?.arguments ?? {}))
  if (text.length <= MAX_SHOWN) return text
  return `${text.slice(0, MAX_SHOWN)}… and ${text.length - MAX_SHOWN} characters more`
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
