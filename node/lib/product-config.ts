// The config forms of other products, as far as their type goes: the core reads what is in them.

type Entries = Record<string, object>;

/** A config in the form of another product: that of `.vscode/mcp.json`, `ael-config.yaml` and so on. */
export type ProductConfig =
  | { servers: Entries; inputs?: readonly object[] }
  | { mcp_servers: Entries }
  | { tools: { mcp_servers: Entries } }
  | { context_servers: Entries }
  | { mcp: Entries }
  | { extensions: Entries }
  | { mcpServers: readonly object[] }
  | { 'sidecar.mcpServers': Entries };
