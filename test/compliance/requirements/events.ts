import type { Requirement } from '../requirements.ts'

const BOTH = '2025-11-25, 2026-07-28'

/** All that happens besides answers: progress, logs, cancellation, changes and asks. */
export const EVENTS: Readonly<Record<string, Requirement>> = {
  'progress.steps': {
    source: `${BOTH} basic/utilities/progress`,
    behaviour: 'progress arrives, each step once and in order',
  },
  'progress.parallel': {
    source: `${BOTH} basic/utilities/progress`,
    behaviour: 'calls at a time get their own progress',
  },
  'logging.unasked': {
    source: '2026-07-28 server/utilities/logging',
    behaviour: 'who gave no level hears no log',
    client: 'modern',
    needs: 'logging',
    why: 'a legacy server may log unasked',
  },
  'logging.level': {
    source: `${BOTH} server/utilities/logging`,
    behaviour: 'what is below the level does not',
    needs: 'logging',
  },
  'logging.delivered': {
    source: `${BOTH} server/utilities/logging`,
    behaviour: 'what a tool logs reaches the client that wants it',
    needs: 'logging',
  },
  'cancel.arrives': {
    source: `${BOTH} basic/utilities/cancellation`,
    behaviour: 'the server learns that a call was given up',
    needs: 'waiting',
  },
  'cancel.others-go-on': {
    source: `${BOTH} basic/utilities/cancellation`,
    behaviour: 'other calls are not touched by it',
    needs: 'waiting',
  },
  'changes.tools': {
    source: '2025-11-25 server/tools#list-changed, 2026-07-28 basic/patterns/subscriptions',
    behaviour: 'a changed list of tools is told, and read anew',
    needs: 'toolChange',
  },
  'changes.prompts': {
    source: '2025-11-25 server/prompts#list-changed, 2026-07-28 basic/patterns/subscriptions',
    behaviour: 'a changed list of prompts is told, and read anew',
    needs: 'promptChange',
  },
  'changes.resource': {
    source: '2025-11-25 server/resources#subscriptions, 2026-07-28 basic/patterns/subscriptions',
    behaviour: 'an update of a watched resource is told',
    needs: 'watched',
  },
  'changes.unsubscribed': {
    source: '2025-11-25 server/resources#subscriptions, 2026-07-28 basic/patterns/subscriptions',
    behaviour: 'and no longer after the end of watching',
    needs: 'watched',
  },
  'changes.own': {
    source: '2025-11-25 server/resources#subscriptions, 2026-07-28 basic/patterns/subscriptions',
    behaviour: 'only who watches is told',
    needs: 'watched',
  },
  'asks.form': {
    source: `${BOTH} client/elicitation#form-mode`,
    behaviour: 'a form is asked for and its content arrives',
    needs: 'form',
  },
  'asks.form-declined': {
    source: `${BOTH} client/elicitation#response-actions`,
    behaviour: 'a declined form arrives as such',
    needs: 'form',
  },
  'asks.form-cancelled': {
    source: `${BOTH} client/elicitation#response-actions`,
    behaviour: 'a cancelled form arrives as such',
    needs: 'form',
  },
  'asks.form-schema': {
    source: `${BOTH} client/elicitation#requested-schema`,
    behaviour: 'defaults and every form of enumeration arrive in the schema',
    needs: 'defaults',
  },
  'asks.url': {
    source: `${BOTH} client/elicitation#url-mode`,
    behaviour: 'the user is sent to a page',
    needs: 'url',
  },
  'asks.sampling': {
    source: `${BOTH} client/sampling`,
    behaviour: 'the model of the client is asked',
    needs: 'sampling',
  },
  'asks.sampling-tools': {
    source: `${BOTH} client/sampling#tools`,
    behaviour: 'the model is offered tools and its use of one arrives',
    needs: 'samplingTools',
  },
  'asks.roots': {
    source: `${BOTH} client/roots`,
    behaviour: 'the roots of the client arrive',
    needs: 'roots',
  },
  'asks.many': {
    source: '2026-07-28 basic/patterns/mrtr',
    behaviour: 'several asks of one call are answered',
    needs: 'many',
  },
  'asks.rounds': {
    source: '2026-07-28 basic/patterns/mrtr',
    behaviour: 'a call may ask again after an answer',
    needs: 'rounds',
  },
  'asks.prompt': {
    source: '2026-07-28 basic/patterns/mrtr',
    behaviour: 'a prompt may ask as well',
    needs: 'promptAsking',
  },
  'asks.parallel': {
    source: `${BOTH} client/elicitation`,
    behaviour: '8 calls at a time get the answers to their own questions',
    needs: 'formWith',
  },
  'asks.own-client': {
    source: '2025-11-25 basic/transports (SEP-2260)',
    behaviour: 'of two clients only the one whose call it is, is asked',
    needs: 'formWith',
  },
  'asks.undeclared': {
    source: `${BOTH} basic/lifecycle, basic#error-codes`,
    behaviour: 'what a client did not declare it is not asked for; the call fails and the connection lives',
    needs: 'undeclared',
  },
  'asks.refused': {
    source: `${BOTH} client/sampling#error-handling`,
    behaviour: 'an ask that the client refuses fails the call; the connection lives',
    needs: 'sampling',
  },
}
