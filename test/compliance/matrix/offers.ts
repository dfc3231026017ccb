import type { Json } from './peer.ts'

/** A tool call and what its answer must show. */
export interface Call {
  readonly name: string
  readonly arguments?: Json
  readonly says?: RegExp
}

/** All that a server has for each thing a requirement may need; what is absent makes the requirement not applicable. */
export interface Offer {
  readonly instructions?: RegExp
  readonly text: Call
  readonly echo: { readonly name: string; readonly says: (message: string) => string }
  readonly image?: Call
  readonly audio?: Call
  readonly embedded?: Call
  readonly mixed?: Call
  readonly link?: Call
  readonly structured?: Call & { readonly value: Json }
  readonly failing?: Call
  readonly invalid: Call
  readonly vendor?: Call
  readonly meta?: Call
  readonly schema?: string
  readonly headers?: Call
  readonly progress: Call & { readonly steps: number }
  readonly logging?: Call
  readonly waiting?: { readonly wait: string; readonly asked: string }
  readonly form?: Call & { readonly fields: readonly string[] }
  readonly formWith?: (message: string) => Call
  readonly defaults?: Call
  readonly enums?: Call
  readonly url?: Call
  readonly sampling?: Call
  readonly samplingTools?: Call
  readonly roots?: Call
  readonly many?: Call
  readonly rounds?: Call
  readonly undeclared?: Call
  readonly prompt: Call
  readonly promptArguments: Call
  readonly promptEmbedded?: Call
  readonly promptImage?: Call
  readonly promptAsking?: Call
  readonly completion: {
    readonly prompt: string
    readonly argument: string
    readonly typed: string
    readonly values: readonly string[]
  }
  readonly completionContext?: {
    readonly prompt: string
    readonly argument: string
    readonly given: Readonly<Record<string, string>>
    readonly values: readonly string[]
  }
  readonly completionTemplate: {
    readonly template: string
    readonly argument: string
    readonly typed: string
    readonly values: readonly string[]
  }
  readonly resource: { readonly uri: string; readonly says: RegExp }
  readonly binary: { readonly uri: string }
  readonly template: { readonly template: string; readonly uri: string; readonly says: RegExp }
  readonly missing: { readonly uri: string }
  readonly pages?: { readonly uris: readonly string[] }
  readonly watched?: { readonly uri: string; readonly touch: Call }
  readonly toolChange?: { readonly touch: Call; readonly name: string }
  readonly promptChange?: { readonly touch: Call; readonly name: string }
}

const TEAM = {
  prompt: 'test_team_prompt',
  argument: 'name',
  given: { team: 'kitchen' },
  values: ['Ada', 'Adele'],
}

/** All that the fixtures on both SDKs offer, under the same names. */
export const FIXTURE: Offer = {
  instructions: /has one of everything/,
  text: { name: 'test_simple_text', says: /This is a simple text response/ },
  echo: { name: 'test_echo', says: message => message },
  image: { name: 'test_image_content' },
  audio: { name: 'test_audio_content' },
  embedded: { name: 'test_embedded_resource', says: /This is an embedded resource content/ },
  mixed: { name: 'test_multiple_content_types' },
  link: { name: 'test_resource_link', says: /test:\/\/static-text/ },
  structured: {
    name: 'test_structured',
    value: { city: 'Oslo', celsius: -3.5, winds: [{ from: 'north', metres: 4 }] },
  },
  failing: { name: 'test_error_handling', says: /intentionally returns an error/ },
  invalid: { name: 'test_echo', arguments: { message: 1 } },
  vendor: { name: 'test_vendor' },
  meta: { name: 'test_meta' },
  progress: { name: 'test_tool_with_progress', steps: 3 },
  logging: { name: 'test_tool_with_logging' },
  waiting: { wait: 'test_wait', asked: 'test_was_cancelled' },
  form: { name: 'test_elicitation', arguments: { message: 'Who?' }, fields: ['username', 'email'] },
  formWith: message => ({ name: 'test_elicitation', arguments: { message } }),
  defaults: { name: 'test_elicitation_sep1034_defaults' },
  enums: { name: 'test_elicitation_sep1330_enums' },
  url: { name: 'test_elicitation_url', says: /visited: accept/ },
  sampling: {
    name: 'test_sampling',
    arguments: { prompt: 'Say hi' },
    says: /LLM response: the model says hi/,
  },
  samplingTools: { name: 'test_sampling_tools', says: /tool_use/ },
  roots: { name: 'test_input_required_result_list_roots', says: /1 root\(s\): file:\/\/\/work/ },
  many: { name: 'test_input_required_result_multiple_inputs', says: /the model says.*1 root/s },
  rounds: { name: 'test_input_required_result_multi_round', says: /Ada likes blue/ },
  undeclared: { name: 'test_missing_capability' },
  prompt: { name: 'test_simple_prompt', says: /This is a simple prompt/ },
  promptArguments: {
    name: 'test_prompt_with_arguments',
    arguments: { arg1: 'one', arg2: 'two' },
    says: /one.*two/,
  },
  promptEmbedded: {
    name: 'test_prompt_with_embedded_resource',
    arguments: { resourceUri: 'test://example' },
    says: /test:\/\/example/,
  },
  promptImage: { name: 'test_prompt_with_image', says: /image\/png/ },
  promptAsking: { name: 'test_input_required_result_prompt', says: /Use this context: tests/ },
  completion: {
    prompt: 'test_prompt_with_arguments',
    argument: 'arg1',
    typed: 'test',
    values: ['testValue1', 'testValue2'],
  },
  completionContext: TEAM,
  completionTemplate: {
    template: 'test://template/{id}/data',
    argument: 'id',
    typed: '12',
    values: ['12', '123'],
  },
  resource: { uri: 'test://static-text', says: /content of the static text resource/ },
  binary: { uri: 'test://static-binary' },
  template: { template: 'test://template/{id}/data', uri: 'test://template/42/data', says: /42/ },
  missing: { uri: 'test://nothing-here' },
  pages: { uris: ['test://static-text', 'test://watched-resource', 'test://static-binary'] },
  watched: {
    uri: 'test://watched-resource',
    touch: { name: 'test_trigger_resource_change', arguments: { uri: 'test://watched-resource' } },
  },
  toolChange: { touch: { name: 'test_trigger_tool_change' }, name: 'test_dynamic_tool' },
  promptChange: { touch: { name: 'test_trigger_prompt_change' }, name: 'test_dynamic_prompt' },
}

/** All that only the fixture on SDK v2 can offer: the other SDK writes its own schemas. */
export const FIXTURE_V2: Offer = {
  ...FIXTURE,
  schema: 'json_schema_2020_12_tool',
  headers: { name: 'test_x_mcp_header', arguments: { region: 'öst 1', level: 3 }, says: /region=öst 1/ },
}

/** All that the published server offers, under its own names. */
export const PUBLISHED: Offer = {
  instructions: /Everything/i,
  text: { name: 'echo', arguments: { message: 'hello' }, says: /Echo: hello/ },
  echo: { name: 'echo', says: message => `Echo: ${message}` },
  image: { name: 'get-tiny-image' },
  embedded: {
    name: 'get-resource-reference',
    arguments: { resourceType: 'Text', resourceId: 1 },
    says: /demo:\/\/resource/,
  },
  mixed: { name: 'get-annotated-message', arguments: { messageType: 'error', includeImage: true } },
  link: { name: 'get-resource-links', arguments: { count: 2 }, says: /demo:\/\/resource/ },
  structured: {
    name: 'get-structured-content',
    arguments: { location: 'New York' },
    value: { temperature: 33, conditions: 'Cloudy', humidity: 82 },
  },
  invalid: { name: 'echo', arguments: { message: 1 } },
  progress: { name: 'trigger-long-running-operation', arguments: { duration: 0.3, steps: 3 }, steps: 3 },
  form: { name: 'trigger-elicitation-request', fields: ['name'] },
  url: {
    name: 'trigger-url-elicitation',
    arguments: { url: 'https://example.com/sign-in' },
    says: /User completed the URL elicitation/,
  },
  sampling: { name: 'trigger-sampling-request', arguments: { prompt: 'Say hi' }, says: /the model says/ },
  roots: { name: 'get-roots-list', says: /file:\/\/\/work/ },
  prompt: { name: 'simple-prompt', says: /simple prompt/ },
  promptArguments: { name: 'args-prompt', arguments: { city: 'Oslo', state: 'Viken' }, says: /Oslo, Viken/ },
  promptEmbedded: {
    name: 'resource-prompt',
    arguments: { resourceType: 'Text', resourceId: '1' },
    says: /demo:\/\/resource/,
  },
  completion: {
    prompt: 'completable-prompt',
    argument: 'department',
    typed: 'S',
    values: ['Sales', 'Support'],
  },
  completionContext: {
    prompt: 'completable-prompt',
    argument: 'name',
    given: { department: 'Sales' },
    values: ['David', 'Eve', 'Frank'],
  },
  completionTemplate: {
    template: 'demo://resource/dynamic/text/{resourceId}',
    argument: 'resourceId',
    typed: '1',
    values: ['1'],
  },
  resource: { uri: 'demo://resource/static/document/features.md', says: /Features/ },
  binary: { uri: 'demo://resource/dynamic/blob/1' },
  template: {
    template: 'demo://resource/dynamic/text/{resourceId}',
    uri: 'demo://resource/dynamic/text/1',
    says: /Resource 1/,
  },
  missing: { uri: 'demo://resource/nothing-here' },
  watched: {
    uri: 'demo://resource/dynamic/text/1',
    touch: { name: 'toggle-subscriber-updates', arguments: {} },
  },
}
