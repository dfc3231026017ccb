/** Name of the gateway's own commands where the configuration has no other; they keep a full list in every mode. */
export const OWN_NAME = 'tapgate'

/** Readers that keep a full list in the mode `auto`, as globs of the names they say, and why. */
export const FULL_FOR: Readonly<Record<string, string>> = {
  'claude-code*': 'it puts off tools by itself and searches them',
  'mcp-inspector*': 'a person looks',
  inspector: 'a person looks',
  'inspector-client*': 'a person looks',
  rest: 'the REST façade: programs call by name',
}
